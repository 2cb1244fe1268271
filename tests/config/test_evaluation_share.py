"""Evaluations while training: how many edges, how often, so that they take about a tenth of the time."""

from types import SimpleNamespace

import numpy as np
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


def test_rarer_evaluations_where_nodes_have_few_numbers():
    known = facts(10_000, 200_000, 50_000)
    often = [with_share(load(sets=[f"model.dim={dim}", "evaluation.split=valid"]), known).every_epochs for dim in (32, 96, 512)]
    assert often == [3, 1, 1]


def test_what_is_given_stays():
    config = load(sets=["evaluation.every_epochs=3", "evaluation.max_edges=17", "evaluation.split=valid"])
    settings = with_share(config, facts(1000, 10_000, 500))
    assert (settings.every_epochs, settings.max_edges) == (3, 17)


def encoded(training, nodes=100_000, edges=1_000_000, sets=()):
    """How often an encoder's run is evaluated: classes of ``training`` nodes are learned, or the edges where it is None."""
    known = facts(nodes, edges, 5000)
    known.relations, known.nodes_to_classify = 1, None if training is None else SimpleNamespace(training=training)
    task = "link_prediction" if training is None else "node_classification"
    config = load(
        sets=[f"task={task}", "model.encoder=sage", "model.layers=[64]", "training.epochs=200", "evaluation.split=valid", *sets]
    )
    return with_share(config, known).every_epochs


def test_an_encoders_run_is_evaluated_the_rarer_the_less_an_epoch_trains_on():
    """An evaluation works out all nodes, whatever is trained on."""
    every = [encoded(training) for training in (500, 5_000, 50_000, 100_000)]
    assert every == sorted(every, reverse=True)
    assert every[0] > 3 * every[-1]
    assert encoded(None) == 1


def test_an_encoders_run_is_evaluated_more_often_the_more_neighbours_its_epochs_draw():
    few, many = (encoded(5_000, sets=[f"sampling.fanouts={fanouts}"]) for fanouts in ("[2,2]", "[20,20]"))
    assert few > many


def test_an_encoders_run_is_evaluated_once_at_least():
    assert encoded(1) == 200
