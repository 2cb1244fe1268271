"""Trials of a round, in a journal."""

import pytest

from marius_lite.tune.space import Choices, Span
from marius_lite.tune.step import MOST_CHANGES
from marius_lite.tune.study import Trials
from marius_lite.tune.trial import Outcome

pytest.importorskip("optuna", reason="tune needs the extra `tune`")
SPACE = {"a": Choices((1, 2, 3)), "b": Span(0.01, 1.0, log=True), "c": Span(1, 9), "d": Choices(("x", "y")), "e": Span(0.0, 1.0)}
FIRST = {"a": 2, "b": 0.1, "c": 5, "d": "x", "e": 0.5}


def differing(one, other):
    return sum(one[key] != other[key] for key in one)


@pytest.mark.parametrize(("metric", "sign"), [("mrr", 1), ("mean_rank", -1)])
def test_every_second_trial_is_a_step_from_the_best_so_far(tmp_path, metric, sign):
    trials = Trials(tmp_path, 0, SPACE, metric, seed=3)
    trials.add(FIRST, None)
    best, points = (0.0, {}), []
    for number in range(16):
        # Each trial is asked for anew, as a search that goes on after a kill does.
        found, point = Trials(tmp_path, 0, SPACE, metric, seed=3).ask()
        assert found == number
        points.append(point)
        if number % 2:
            assert differing(point, best[1]) <= MOST_CHANGES
        figure = point["b"]
        trials.tell(number, Outcome(figure, 1))
        best = max(best, (sign * figure, point), key=lambda one: one[0]) if best[1] else (sign * figure, point)
    assert points[0] == FIRST
    assert max(differing(point, FIRST) for point in points[2::2]) > MOST_CHANGES, "others are drawn from all of the space"


def test_without_a_figure_no_step_is_taken(tmp_path):
    trials = Trials(tmp_path, 0, SPACE, "mrr", seed=0)
    trials.add(FIRST, None)
    trials.tell(trials.ask()[0], Outcome(None, 0, "failed"))
    assert [trials.ask()[0] for _ in range(3)] == [1, 2, 3]
