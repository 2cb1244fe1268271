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


def test_the_first_epochs_take_a_part_of_the_time_of_others(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    told = progress.Progress(10, "edges", 5, done=0, first=(2, 0.1))
    told.batch(0, 10, 1.0, lambda: 0.0)
    now[0] += 1
    assert told.left() == "00:31"  # one more of 1 s, then three of 10 s
    told.batch(1, 10, 1.0, lambda: 0.0)
    told.batch(2, 5, 1.0, lambda: 0.0)
    now[0] += 6
    assert told.left() == "00:25"
    told.close()
