import threading
import time
from contextlib import closing

import pytest

from marius_lite.pipeline.stage import staged


def test_results_come_in_order():
    assert list(staged(range(100), lambda x: x * x, 3)) == [x * x for x in range(100)]


@pytest.mark.parametrize("where", ["function", "items"])
def test_an_error_is_raised_in_its_turn(where):
    def items():
        yield from range(3)
        if where == "items":
            raise KeyError("items")
        yield 3

    def function(x):
        if x == 3:
            raise KeyError("function")
        return x

    got = []
    with pytest.raises(KeyError, match=where):
        got.extend(staged(items(), function, 2))
    assert got == [] or got == [0, 1, 2]


def test_never_further_ahead_than_asked():
    started = []
    stage = staged(range(50), lambda x: started.append(x) or x, 2)
    assert next(stage) == 0
    time.sleep(0.3)
    assert len(started) <= 1 + 2 + 1
    stage.close()


def test_permits_bound_what_is_in_flight_and_closing_ends_the_thread():
    before = threading.active_count()
    permits = threading.Semaphore(2)
    with closing(staged(range(50), lambda x: x, 10, permits)) as stage:
        assert [next(stage), next(stage)] == [0, 1]
        time.sleep(0.2)
        permits.release()
        assert next(stage) == 2
    assert threading.active_count() == before
