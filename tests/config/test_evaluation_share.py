"""Evaluations while training: how many edges, how often, so that they take about a tenth of the time."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.config.evaluation_share import FEW_EDGES, LONGEST_WAIT, MOST_EDGES, with_share
from marius_lite.config.load import load


def facts(nodes, train, valid):
    return SimpleNamespace(nodes=nodes, splits={"train": train, "valid": valid}, bucket_counts=np.array([[train]]))


def share(edges, settings, nodes, train, negatives):
    """Arithmetic of the evaluations over that of the epochs between them."""
    scores = nodes if negatives == "all" else negatives + 1
    return edges * nodes / (settings.every_epochs * train * 3 * scores)


@given(st.integers(10, 10**8), st.integers(1000, 10**9), st.integers(1, 10**6), st.sampled_from([50, 1000, "all"]))
def test_a_tenth_of_the_time_unless_fewer_edges_would_tell_too_little(nodes, train, valid, negatives):
    config = load(sets=[f"negatives.count={negatives}", "evaluation.split=valid", "training.epochs=100"])
    settings = with_share(config, facts(nodes, train, valid))
    assert 1 <= settings.every_epochs <= LONGEST_WAIT
    assert FEW_EDGES <= settings.max_edges <= MOST_EDGES
    edges = min(settings.max_edges, valid)
    if edges > FEW_EDGES or settings.every_epochs < LONGEST_WAIT:
        assert share(edges - settings.every_epochs, settings, nodes, train, negatives) < 0.1  # but for one edge an epoch


def test_what_is_given_stays():
    config = load(sets=["evaluation.every_epochs=3", "evaluation.max_edges=17", "evaluation.split=valid"])
    settings = with_share(config, facts(1000, 10_000, 500))
    assert (settings.every_epochs, settings.max_edges) == (3, 17)


@pytest.mark.parametrize(("epochs", "every"), [(5, 1), (200, 10)])
def test_an_encoders_run_is_evaluated_twenty_times(epochs, every):
    config = load(sets=["model.encoder=sage", f"training.epochs={epochs}", "evaluation.split=valid"])
    assert with_share(config, facts(1000, 10_000, 500)).every_epochs == every
