"""The made-up graphs of scripts/bench are as they say, and the presets learn some of them far better than nothing would."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

BENCH = Path(__file__).parent.parent / "scripts" / "bench"


@pytest.fixture(scope="module")
def made_up():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCH)
        import made_up as module

        yield module
    for name in (
        "made_up",
        "made_up_contagion",
        "made_up_counts",
        "made_up_figures",
        "made_up_graphs",
        "made_up_large",
        "made_up_nodes",
        "made_up_profiles",
        "made_up_trades",
        "made_up_weights",
        "made_up_worlds",
    ):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("kind", ["tiny", "apart", "drift", "lopsided"])
def test_who_knows_the_structure_ranks_by_it(made_up, kind):
    graph = made_up.LINKS[kind](0)
    assert [len(np.unique(split, axis=0)) for split in graph.splits] == [len(split) for split in graph.splits]
    figures = {}
    for name, scores in (("oracle", graph.oracle), ("chance", None)):
        chance = torch.Generator().manual_seed(0)

        def scored(q, r, forward, scores=scores, chance=chance):
            noise = torch.rand((len(q), graph.nodes), generator=chance)
            return noise if scores is None else torch.from_numpy(scores(q.numpy(), r.numpy(), forward)) + 1e-9 * noise

        figures[name] = made_up.ranked(scored, made_up.in_both(graph), 2, graph.nodes)
    assert figures["oracle"] > 2 * figures["chance"]
    assert figures["oracle"] > 0.15


def test_rules_explain_families_and_common_neighbours_explain_small_worlds(made_up):
    for graph, kind in ((made_up.WORLDS["families"](0, count=20), "rules"), (made_up.LINKS["apart"](0), "common neighbours")):
        splits = made_up.in_both(graph)
        scores = made_up.counters(splits[0], graph.nodes, graph.relations)
        figures = {name: made_up.ranked(each, splits, 2, graph.nodes) for name, each in scores.items()}
        assert figures[kind] > 0.5
        assert figures[kind] > 2 * figures["popular in a relation"]


@pytest.mark.parametrize("kind", ["ties", "distances", "bought", "ratings"])
def test_weights_say_what_their_kind_says(made_up, kind):
    for name in (kind, kind + "-strong"):
        graph = made_up.WEIGHTS[name](0)
        assert [len(weights) for weights in graph.weights] == [len(split) for split in graph.splits]
        assert len(np.unique(np.concatenate(graph.splits), axis=0)) == sum(map(len, graph.splits))
        train, _, test = (weights.mean() for weights in graph.weights)
        if name == kind:
            assert test == pytest.approx(train, rel=0.15)
        else:
            assert test < 0.5 * train if kind == "distances" else test > 1.2 * train


@pytest.mark.slow
def test_links_through_an_encoder_are_learned_without_settings(made_up, tmp_path):
    graph = made_up.LINKS["tiny"](0)
    made_up.stored_links(graph, tmp_path)
    counts = [torch.bincount(torch.from_numpy(graph.splits[0][:, k]), minlength=graph.nodes).double() for k in (0, 2)]
    edges = made_up.in_both(graph)
    popular = made_up.ranked(lambda q, _, forward: counts[int(forward)].expand(len(q), -1), edges, 2, graph.nodes)
    found = made_up.trained(tmp_path, ["--set", "model.encoder=sage", "--set", "training.epochs=30"], 0, tmp_path / "run")
    assert found["mrr"] > 1.2 * popular


def test_columns_of_very_different_sizes_hide_nothing(made_up, tmp_path):
    made_up.stored_nodes(made_up.NODES["one-large"](0), tmp_path)
    assert made_up.trained(tmp_path, ["--set", "training.epochs=10"], 0, tmp_path / "run")["accuracy"] > 0.8
