from marius_lite.metrics import MetricsLog, read


def test_a_reopened_log_is_cut_back_to_the_checkpoint(tmp_path):
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path)
    log.write("batch", 0, 0, 0, loss=1.0)
    length = log.sync()
    log.write("batch", 0, 0, 1, loss=2.0)
    log.close()
    assert [line["batch"] for line in read(path)] == [0, 1]
    again = MetricsLog(path, length)
    again.write("batch", 0, 0, 1, loss=3.0)
    again.close()
    assert [(line["batch"], line["loss"]) for line in read(path)] == [(0, 1.0), (1, 3.0)]


def test_a_torn_last_line_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"batch":0}\n{"bat')
    assert read(path) == [{"batch": 0}]
    assert read(tmp_path / "none") == []
