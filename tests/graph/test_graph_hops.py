"""Linear models say how nodes should take from their neighbours: mixed with them or apart, over how many hops, by relation."""

import logging
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from stored_nodes import stored

from marius_lite.config import presets
from marius_lite.graph import hops as module
from marius_lite.graph import linear_test, node_defaults, node_depth, whole_lists
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.defaults import config_for
from marius_lite.graph.feature_sample import sampled
from marius_lite.graph.hops import tried
from marius_lite.graph.linear_shares import Shares, Tried
from marius_lite.graph.linear_test import SHRINKAGES
from marius_lite.graph.node_depth import more_hops
from marius_lite.graph.weight_unit import unit_of, with_unit

NODES, CLASSES = 800, 4
SPLITS = {"train": slice(0, 200), "valid": slice(200, 600)}


@pytest.fixture
def made(cli, tmp_path):
    """Write nodes of four classes. ``signal``: of their features. ``steps``: how much further the class at an edge's other end
    is, by relation; None: any."""

    def write(signal, steps, options=("--undirected",), several=False, partitions=3, weigh=None):
        rng = np.random.default_rng(0)
        y = rng.permutation(NODES) % CLASSES
        members = [np.flatnonzero(y == c) for c in range(CLASSES)]
        lines = []
        for relation, step in enumerate(steps):
            for src in rng.integers(NODES, size=4 * NODES):
                near = step is not None and rng.random() < 0.9
                lines.append((src, relation, rng.choice(members[(y[src] + step) % CLASSES]) if near else rng.integers(NODES)))
        edges = np.array(lines)
        stored = edges if len(steps) > 1 else edges[:, [0, 2]]
        if weigh is not None:
            stored = np.column_stack([stored, weigh(y[edges[:, 0]] == y[edges[:, 2]], rng)])
            options = (*options, "--columns=src,dst,weight")
        np.save(tmp_path / "edges.npy", stored)
        x = signal * np.eye(CLASSES, 16)[y] + rng.normal(size=(NODES, 16))
        np.save(tmp_path / "x.npy", x.astype(np.float32))
        np.save(tmp_path / "y.npy", np.eye(CLASSES, dtype=np.int8)[y] if several else y)
        order = rng.permutation(NODES)
        given = [f"--features={tmp_path / 'x.npy'}", f"--labels={tmp_path / 'y.npy'}"]
        for name, part in SPLITS.items():
            np.save(tmp_path / f"{name}.npy", order[part])
            given.append(f"--{name}-nodes={tmp_path / name}.npy")
        folder = tmp_path / f"data{partitions}"
        parts = ["--partitions", str(partitions), "--output", folder]
        assert cli("preprocess", tmp_path / "edges.npy", *given, *options, *parts) == 0
        return Dataset.open(folder)

    return write


def test_where_features_say_little_more_hops_are_better_and_chosen(made, caplog):
    dataset = made(0.3, [0])
    seen = tried(dataset, directions=["in"])
    assert seen.own < 0.5
    assert seen.mixed[3] > seen.mixed[1] + 0.05
    assert seen.unlike is False
    assert seen.hops > 2
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert (config.model.encoder, config.model.hops, config.training.method) == ("sgc", seen.hops, "layerwise")
    assert config.model.dropout == 0
    assert f"right after {seen.hops} hops" in caplog.text
    for item in ("model.encoder=gcn", "sampling.fanouts=[5,5]", "training.method=sampled"):
        assert config_for(dataset, None, [item]).model.encoder == "gcn"
    assert config_for(dataset, "preset:gcn").model.encoder == "gcn"


@pytest.mark.parametrize("several", [False, True])
def test_where_nodes_have_several_classes_two_hops_are_taken_all_the_same(made, several):
    """Shares of nodes of which one class is told right say little then; they do where rows of labels have just one 1 each."""
    dataset = made(0.3, [0], several=several)
    seen = tried(dataset, directions=["in"])
    assert seen.hops > 2
    assert not seen.several
    over = {}
    assert more_hops(dataset, "preset:gcn", over, seen)
    assert not more_hops(dataset, "preset:gcn", over, replace(seen, several=True))


def test_some_nodes_have_several_classes(several):
    seen = tried(Dataset.open(several), directions=["in"])
    assert seen.several
    assert seen.several_shrinkage in SHRINKAGES


@pytest.mark.parametrize("several", [False, True])
def test_where_features_say_enough_two_hops_are(made, several):
    dataset = made(2.0, [0], several=several)
    seen = tried(dataset, directions=["in"])
    assert seen.mixed[1] > 0.9
    assert seen.hops == 2
    assert config_for(dataset, None).model.encoder == "gcn"


def test_nodes_that_say_more_than_their_neighbours_are_told_from_them(made):
    dataset = made(2.5, [None])
    seen = tried(dataset, directions=["in"])
    assert 0.95 > seen.own > 0.8
    assert seen.unlike is True
    assert config_for(dataset, None).model.encoder == "sage"


def test_relations_have_weights_of_their_own_where_that_is_better(made):
    dataset = made(0.7, [0, None, None, None])
    seen = tried(dataset, directions=["in"])
    assert seen.related > seen.best + 0.1
    assert config_for(dataset, None).model.encoder == "rgcn"
    assert config_for(dataset, None, ["model.encoder=sage"]).model.encoder == "sage"


def test_nodes_take_from_both_ends_of_edges_where_that_says_more(made, caplog):
    dataset = made(0.5, [0], options=())
    seen = tried(dataset, ["in", "out", "both"])
    assert seen.directions == "both"
    assert seen.best > seen.one_way + 0.05
    with caplog.at_level(logging.INFO, "marius_lite"):
        assert config_for(dataset, None).model.directions == "both"
    assert "model.directions=both, because" in caplog.text
    assert tried(dataset, ["in"]).directions == "in"
    assert config_for(dataset, None, ["model.directions=in"]).model.directions == "in"


def test_the_ends_of_edges_have_weights_of_their_own_where_that_says_more(made):
    """Edges lead to the next class: what they come from and what they lead to are other classes."""
    dataset = made(0.7, [1], options=())
    seen = tried(dataset, ["in", "out", "both"])
    assert (seen.related_directions, seen.better_related) == ("both", True)
    config = config_for(dataset, None)
    assert (config.model.encoder, config.model.directions, len(config.model.layers)) == ("rgcn", "both", seen.depth - 1)
    assert seen.depth > 2


def test_relations_are_not_told_apart_where_the_number_of_neighbours_says_more():
    counted = Shares(0.7, (0.7,) * 4, 0.7, 0.97, 0.9, 5.0)
    seen = Tried(0.6, 0.7, (0.85,) * 4, 0.94, 400)
    assert seen.better_related
    assert not replace(seen, counted=counted).better_related
    assert replace(seen, counted=replace(counted, counted=0.93)).better_related
    assert replace(seen, counted=counted, several=True).better_related, (
        "of several classes these are ROC AUCs, the others are not"
    )


def test_partitions_change_nothing_that_is_seen(made):
    dataset = made(0.5, [0])
    seen = tried(dataset, directions=["in"])
    other = tried(made(0.5, [0], partitions=1), directions=["in"])
    assert np.allclose([other.own, other.apart, *other.mixed], [seen.own, seen.apart, *seen.mixed], atol=0.02)


def test_wide_features_become_principal_components(made, monkeypatch):
    dataset = made(2.0, [0])
    whole = tried(dataset, directions=["in"])
    monkeypatch.setattr(whole_lists, "WIDTHS", (8,))
    fewer = tried(dataset, directions=["in"])
    assert fewer.own > 0.7 * whole.own
    assert fewer.mixed[1] > 0.9


@pytest.mark.parametrize(("name", "value"), [("MOST_CLASSES", 3), ("FEWEST", 201)])
def test_of_many_classes_and_few_nodes_nothing_is_tried(made, monkeypatch, name, value):
    monkeypatch.setattr(linear_test, name, value)
    assert tried(made(1.0, [0]), directions=["in"]) is None


@pytest.mark.parametrize(
    ("mixed", "hops"),
    [((0.5, 0.9, 0.9, 0.91), 2), ((0.5, 0.8, 0.95, 0.955), 3), ((0.5, 0.8, 0.85, 0.95), 4), ((0.3, 0.31, 0.33, 0.35), 2)],
)
def test_hops_are_as_few_as_are_hardly_worse(mixed, hops):
    assert Tried(own=0.2, apart=0.2, mixed=mixed, related=None, asked=500).hops == hops


def test_weights_count_unless_all_edges_alike_say_more(made, caplog):
    """Weights that tell true links from others, and distances, which are small where nodes are near."""
    caplog.set_level(logging.INFO, "marius_lite")
    heavy = made(
        0.5, [0], weigh=lambda alike, rng: np.where(alike, rng.uniform(3, 10, len(alike)), rng.uniform(0, 1, len(alike)))
    )
    unit = unit_of(heavy)
    seen = tried(heavy, directions=["in"], unit_of=unit_of)
    assert seen.best > seen.unweighted
    assert not seen.better_unweighted
    assert with_unit(heavy, config_for(heavy, None)).model.weight_unit == unit
    assert f"model.weight_unit={unit:g}, because edges have weights" in caplog.text


def test_distances_do_not_count(made, caplog):
    caplog.set_level(logging.INFO, "marius_lite")
    far = made(0.5, [0], weigh=lambda alike, rng: rng.uniform(1, 2, len(alike)) * np.where(alike, 1, 100))
    assert tried(far, directions=["in"], unit_of=unit_of).better_unweighted
    assert config_for(far, None).model.weight_unit == 0
    assert "model.weight_unit=0, because linear models tell" in caplog.text
    assert config_for(far, None, ["model.weight_unit=3"]).model.weight_unit == 3


def test_where_features_say_next_to_nothing_many_hops_are_taken(made):
    """As label propagation takes them."""
    dataset = made(0.2, [0])
    seen = tried(dataset, directions=["in"])
    assert len(seen.mixed) == module.MOST_HOPS
    assert seen.mixed[seen.hops - 1] > seen.mixed[3] + 0.01
    assert config_for(dataset, None).model.hops == seen.hops > 4


@pytest.mark.parametrize(
    ("shares", "tried_hops"),
    [([0.5, 0.4, 0.3, 0.2, 0.9], 4), ([0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.9], 6), ([0.1, 0.2, 0.3, 0.4, 0.3, 0.5, 0.4], 7)],
)
def test_hops_are_tried_until_two_in_a_row_are_worse_than_the_best(shares, tried_hops):
    answers = iter(shares)
    rows = np.ones((1, 1), np.float32)
    lists = whole_lists.WholeLists(np.array([0, 0]), np.zeros(0, np.int32))
    test = SimpleNamespace(of=lambda _: next(answers))
    assert module._mixed(test, rows, lists, len(shares)) == tuple(shares[:tried_hops])


def test_whether_more_than_two_hops_are_better_is_told_by_the_first_four():
    rising = (0.5, 0.7, 0.71, 0.71, 0.9, 0.95)
    assert Tried(own=0.2, apart=0.2, mixed=rising, related=None, asked=500).hops == 2


def test_where_classes_are_rare_ranks_decide_what_is_chosen(cli, tmp_path, caplog):
    """One account in thirty is a fraud, and links lead from accounts to devices: whose features say it."""
    rng = np.random.default_rng(0)
    y = (np.arange(1500) % 30 == 0).astype(int)
    target = 1500 + np.where(np.repeat(y, 3) == 1, rng.integers(20, size=4500), rng.integers(300, size=4500))
    np.save(tmp_path / "edges.npy", np.stack([np.repeat(np.arange(1500), 3), target], 1))
    x = rng.normal(size=(1800, 4))
    x[1500:1520, 0] += 4
    np.save(tmp_path / "x.npy", x.astype(np.float32))
    np.save(tmp_path / "y.npy", np.concatenate([y, np.full(300, -1)]))
    order = rng.permutation(1500)
    stored(cli, tmp_path, order, 600)
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(Dataset.open(tmp_path / "d"), None)
    assert config.model.directions in ("out", "both")
    assert config.training.metric == "roc_auc"
    assert "rank the classes of labelled nodes with a mean ROC AUC of" in caplog.text
    assert config_for(Dataset.open(tmp_path / "d"), None, ["training.metric=accuracy"]).training.metric == "accuracy"


def test_columns_of_counts_are_standardised_where_sums_are_over_many_hops(made, monkeypatch):
    dataset = made(0.3, [0])
    assert config_for(dataset, None).model.normalize_features is False
    for each in (node_defaults, node_depth):
        monkeypatch.setattr(each, "sampled", lambda features: replace(sampled(features), negative=False, zeros=1.0))
    config = config_for(dataset, None)
    assert (config.model.encoder, config.model.normalize_features) == ("sgc", "columns")
    given = config_for(dataset, None, ["model.normalize_features=true"])
    assert (given.model.encoder, given.model.normalize_features) == ("sgc", True)


def test_numbers_of_neighbours_are_shown_where_they_tell_the_class(cli, tmp_path, caplog):
    """The class of a node is how many links lead to it: few, some or many."""
    rng = np.random.default_rng(0)
    target = rng.permutation(np.repeat(np.arange(900), np.repeat([1, 4, 12], 300)))
    np.save(tmp_path / "edges.npy", np.stack([rng.integers(900, size=len(target)), target], 1))
    np.save(tmp_path / "x.npy", rng.normal(size=(900, 4)).astype(np.float32))
    np.save(tmp_path / "y.npy", np.repeat(np.arange(3), 300))
    order = rng.permutation(900)
    stored(cli, tmp_path, order, 300)
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(Dataset.open(tmp_path / "d"), None)
    assert config.model.degree_unit == pytest.approx(len(target) / 900, rel=0.01)
    assert "where they see how many neighbours a node has" in caplog.text
    assert config_for(Dataset.open(tmp_path / "d"), None, ["model.degree_unit=0"]).model.degree_unit == 0
    assert config_for(Dataset.open(tmp_path / "d"), None, ["training.method=cluster"]).model.degree_unit == 0


def test_layers_are_as_many_as_the_hops_that_tell_classes(cli, tmp_path, caplog, monkeypatch):
    """The class is whether the mean of a number three links away is above its median."""
    rng, nodes = np.random.default_rng(0), 1200
    x, source, target = rng.normal(size=(nodes, 4)), rng.integers(nodes, size=3 * nodes), np.repeat(np.arange(nodes), 3)
    far = x[:, 0]
    for _ in range(3):
        far = np.bincount(target, far[source]) / 3
    np.save(tmp_path / "edges.npy", np.stack([source, target], 1))
    np.save(tmp_path / "x.npy", x.astype(np.float32))
    np.save(tmp_path / "y.npy", (far > np.median(far)).astype(np.int64))
    stored(cli, tmp_path, rng.permutation(nodes), 400)
    dataset = Dataset.open(tmp_path / "d")
    seen = tried(dataset, directions=["in", "out"])
    assert seen.depth == 3
    assert seen.deeper[0] > seen.near + 0.1
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert (config.model.encoder, len(config.model.layers), config.sampling.fanouts) == ("sage", 2, (15, 10, 10))
    assert "right by neighbours of 3 hops, each hop apart" in caplog.text
    for given in ("model.layers=[128]", "sampling.fanouts=[5,5]"):
        assert len(config_for(dataset, None, [given]).model.layers) == 1
    monkeypatch.setattr(presets, "FEW_NODES", nodes - 1)
    model = config_for(dataset, None).model
    assert (model.encoder, model.hops, model.gcn_norm, model.norm) == ("sign", 3, "mean", "batch")
    assert config_for(dataset, None, ["model.directions=in"]).model.encoder == "sign"
    for given in ("sampling.scope=resident", "scale.ranks=1", "model.degree_unit=0"):
        assert len(config_for(dataset, None, [given]).model.layers) == 2
    assert replace(seen, deeper=(seen.near, seen.near)).depth == 2
    assert replace(seen, deeper=()).depth == 2


def test_wide_features_are_not_set_side_by_side_for_more_hops(made, monkeypatch):
    dataset = made(0.0, [None])
    assert len(tried(dataset, directions=["in"]).deeper) == module.HOPS - 2
    for columns, more in ((79, 1), (63, 0)):
        monkeypatch.setattr(module, "MOST_COLUMNS", columns)
        assert len(tried(dataset, directions=["in"]).deeper) == more


def test_all_neighbours_are_taken_where_some_say_clearly_less(made, caplog):
    dataset = made(1.0, [1, None, None, None, None], partitions=1)
    with caplog.at_level(logging.INFO, "marius_lite"):
        config = config_for(dataset, None)
    assert (config.model.encoder, config.sampling.fanouts) == ("rgcn", (-1, -1))
    assert "sampling.fanouts=[-1, -1], because linear models tell" in caplog.text
    assert config_for(dataset, None, ["sampling.fanouts=[9,9]"]).sampling.fanouts == (9, 9)
    assert config_for(dataset, None, ["model.input_dropout=0"]).model.encoder == "rgcn"
    assert config_for(dataset, None, ["model.layers=[8,8]"]).sampling.fanouts == (-1, -1, -1)


def test_as_many_are_drawn_as_a_preset_says_where_nodes_have_few(made):
    dataset = made(1.0, [1], partitions=1)
    assert tried(dataset, ["in"]).drawn is None
    assert config_for(dataset, None).sampling.fanouts == (15, 10)


@pytest.mark.parametrize(("drawn", "taken"), [((0.7, 0.6), True), ((0.7, 0.69), False), ((0.6, 0.7), False), (None, False)])
def test_by_how_much_some_must_say_less(drawn, taken):
    seen = Tried(0.5, 0.7, (0.5,) * 4, None, 500, drawn=drawn)
    assert bool(node_defaults.all_neighbours("preset:sage", {}, seen)) == taken
    assert node_defaults.all_neighbours("preset:gcn", {}, seen) == []
