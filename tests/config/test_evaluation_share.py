"""Evaluations while training: how many edges, how often, so that they take about a tenth of the time."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.config.evaluation_share import FEW_EDGES, MOST_EDGES, with_share
from marius_lite.config.load import load


def facts(nodes, train, valid):
    return SimpleNamespace(nodes=nodes, splits={"train": train, "valid": valid}, bucket_counts=np.array([[train]]))


def share(edges, settings, nodes, train, negatives):
    """Scores of the evaluations over those of the epochs between them."""
    scores = nodes if negatives == "all" else negatives + 1
    return edges * nodes / (settings.every_epochs * train * scores)


@given(st.integers(10, 10**8), st.integers(1000, 10**9), st.integers(1, 10**6), st.sampled_from([50, 1000, "all"]))
def test_a_tenth_of_the_time_but_for_what_rounding_and_the_number_of_epochs_leave(nodes, train, valid, negatives):
    epochs = 100
    config = load(sets=[f"negatives.count={negatives}", "evaluation.split=valid", f"training.epochs={epochs}"])
    settings = with_share(config, facts(nodes, train, valid))
    assert 1 <= settings.every_epochs <= epochs
    assert FEW_EDGES <= settings.max_edges <= MOST_EDGES
    edges = min(settings.max_edges, valid)
    if settings.every_epochs < epochs:
        whole = 1.5 * settings.every_epochs  # edges that whole numbers of them an epoch may leave
        assert share(edges - whole, settings, nodes, train, negatives) < 0.15


def test_more_edges_are_ranked_where_evaluations_are_rare_by_request():
    config = load(sets=["evaluation.every_epochs=4", "evaluation.split=valid"])
    assert with_share(config, facts(10_000, 200_000, 50_000)).max_edges == 8_008


def test_what_is_given_stays():
    config = load(sets=["evaluation.every_epochs=3", "evaluation.max_edges=17", "evaluation.split=valid"])
    settings = with_share(config, facts(1000, 10_000, 500))
    assert (settings.every_epochs, settings.max_edges) == (3, 17)


@pytest.mark.parametrize(("epochs", "every"), [(5, 1), (200, 10)])
def test_an_encoders_run_is_evaluated_twenty_times(epochs, every):
    config = load(sets=["model.encoder=sage", f"training.epochs={epochs}", "evaluation.split=valid"])
    assert with_share(config, facts(1000, 10_000, 500)).every_epochs == every
