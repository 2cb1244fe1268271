"""Batches are prepared in order, some of them foreseen together, until they are asked to stop."""

import threading
import time

import pytest

from marius_lite.rows.ahead import Waited, prepared_each


@pytest.mark.parametrize(("together", "told"), [(1, []), (2, [[0, 1], [2, 3], [4]]), (9, [[0, 1, 2, 3, 4]])])
def test_some_are_foreseen_together(together, told):
    foreseen = []
    each = prepared_each(lambda batch: batch * 10, foreseen.append, together)
    assert list(each(range(5), threading.Event())) == [0, 10, 20, 30, 40]
    assert foreseen == told
    assert list(prepared_each(str, None, together)(range(3), threading.Event())) == ["0", "1", "2"]


def test_a_stop_ends_it_before_the_next_one():
    stop, prepared = threading.Event(), []
    each = prepared_each(prepared.append, lambda batches: None, 3)
    for number, _ in enumerate(each(range(9), stop)):
        if number == 3:
            stop.set()
    assert prepared == [0, 1, 2, 3]


def test_what_is_waited_for_is_counted():
    waited = Waited()

    def slowly():
        for number in range(3):
            time.sleep(0.01)
            yield number

    assert list(waited.each(slowly())) == [0, 1, 2]
    assert waited.seconds >= 0.03
