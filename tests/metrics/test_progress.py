"""The time left is that of what is not trained yet, at the speed of this process."""

from marius_lite.metrics import progress


def test_time_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    told = progress.Progress(10, "edges", 40, done=200)  # half was done by another process
    now[0] += 5  # an evaluation that was due
    assert told.left() == "?"
    told.batch(20, 5, 1.0, lambda: 0.0)
    now[0] += 5
    assert told.left() == "06:30"  # 5 in 10 s, 195 are left
    for _ in range(39):
        told.batch(20, 5, 1.0, lambda: 0.0)
    assert told.left() == "00:00"
    told.close()
