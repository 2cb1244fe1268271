"""Lists of turned edges are made of the edges, alone or beside these as they are, in every version of a dataset."""

import numpy as np
import pytest
from list_entries import listed
from node_runs import train
from weighted_dataset import with_weights

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph import Dataset
from marius_lite.graph.facts import list_bytes
from marius_lite.graph.fanouts import hop_fanouts
from marius_lite.graph.inputs import lists_read
from marius_lite.graph.turned import TurnedLists
from marius_lite.sampling.neighbours import true_degrees


def edges_of(dataset):
    """Each training edge as (source, destination, relation, weight)."""
    edges, rows, found = dataset.edges("train"), dataset.partitioning.rows, []
    every = range(dataset.partitioning.partitions)
    for i, j in ((i, j) for i in every for j in every):
        for src, dst, *beside in edges.stream_columns(i, j, 50, edges.columns):
            beside += [np.zeros(len(src))] * (2 - len(beside))
            found += zip(
                (src.astype(int) + i * rows).tolist(), (dst.astype(int) + j * rows).tolist(), *map(np.ndarray.tolist, beside)
            )
    return found


def check(dataset, weights=False):
    edges, relations = edges_of(dataset), dataset.manifest.relations
    for apart in (0, relations):
        turned = [(s, d, r + apart, w) for s, d, r, w in edges]
        as_they_are = [(d, s, r, w) for s, d, r, w in edges]
        alone, both = (TurnedLists(dataset.adjacency, dataset.edges("train"), each, apart) for each in (False, True))
        assert listed(dataset, alone, weights) == sorted(turned)
        assert listed(dataset, both, weights) == sorted(turned + as_they_are)
        assert both.read(0, relations=False).rel is None
        assert both.merging_bytes(weights) > both.held.max() * both.edge_bytes(weights)


def test_lists_are_the_edges_turned_round(surrounded, tmp_path):
    check(Dataset.open(surrounded))
    weighted = with_weights(surrounded, tmp_path / "weighted", lambda src, dst, rel: src + 3 * dst + rel)
    check(weighted, weights=True)
    both = TurnedLists(weighted.adjacency, weighted.edges("train"), True)
    assert (both.weighing(2.0).read(1).factors * 2 == both.read(1, weights=True).weights).all()


@pytest.mark.parametrize("unit", [None, 2.0])
def test_they_tell_how_many_neighbours_are_at_either_end(surrounded, tmp_path, unit):
    dataset = with_weights(surrounded, tmp_path / "weighted", lambda src, dst, rel: src + 3 * dst + rel)
    stored = dataset.adjacency if unit is None else dataset.adjacency.weighing(unit)
    into, out = np.zeros(dataset.manifest.nodes), np.zeros(dataset.manifest.nodes)
    for src, dst, _, weight in edges_of(dataset):
        into[dst] += (src != dst) * (1 if unit is None else weight / unit)
        out[src] += (src != dst) * (1 if unit is None else weight / unit)
    lists = TurnedLists(stored, dataset.edges("train"), True, counted=True)
    np.testing.assert_allclose(true_degrees(lists, dataset.partitioning), np.stack([into, out], 1), rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(
        true_degrees(TurnedLists(stored, dataset.edges("train"), True), dataset.partitioning), into + out, rtol=1e-4
    )


def test_lists_are_those_of_the_newest_version(surrounded, tmp_path, cli):
    folder = tmp_path / "grown"
    assert cli("repartition", surrounded, "--output", folder, "--partitions", "3") == 0
    (tmp_path / "new.tsv").write_text("".join(f"node{k}\trel{k % 3}\tlater{k % 7}\n" for k in range(40)))
    known = Dataset.open(folder)
    names = [str(known.raw_ids(0, 300)[k].as_py()) for k in range(300)]
    gone = edges_of(known)[::9]
    (tmp_path / "gone.tsv").write_text("".join(f"{names[s]}\trel{r}\t{names[d]}\n" for s, d, r, _ in gone))
    assert cli("update", folder, tmp_path / "new.tsv", "--remove", tmp_path / "gone.tsv") == 0
    dataset = Dataset.open(folder)
    assert len(edges_of(dataset)) < len(edges_of(known)) - 100
    check(dataset)


@pytest.mark.parametrize(
    "more",
    [
        ("model.encoder=rgcn", "model.directions=both"),
        ("model.encoder=gcn", "model.directions=out"),
        ("model.encoder=sgc", "model.directions=both", "training.method=layerwise"),
    ],
)
def test_a_run_has_the_same_bits_out_of_core(communities, tmp_path, cli, more):
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    settings = ["training.epochs=2", "evaluation.every_epochs=2", *more]
    if "training.method=layerwise" in more:
        settings += ["sampling.fanouts=auto", "sampling.scope=auto"]
        ways = [["storage.capacity=3"]]
    else:
        ways = [["storage.capacity=3", "sampling.scope=exact", f"sampling.lists={lists}"] for lists in ("memory", "disk")]
    whole = train(cli, communities, tmp_path / "whole", *settings)
    for number, sets in enumerate(ways):
        assert train(cli, communities, tmp_path / f"run{number}", *settings, *sets) == whole


def test_fanouts_and_memory_count_turned_edges(surrounded):
    dataset = Dataset.open(surrounded)
    read = {}
    for directions in ("in", "both"):
        config = load(sets=["model.encoder=rgcn", f"model.directions={directions}", "sampling.fanouts=[{rel1: 5, default: 2}]"])
        read[directions] = list_bytes(dataset, config), hop_fanouts(config, dataset)[0].tolist()
    assert read["in"][1] * 2 == read["both"][1]
    assert sorted(read["in"][1]) == [2, 2, 5]
    more = int(max(dataset.edges("train").counts.sum(0) + dataset.edges("train").counts.sum(1)))
    assert read["both"][0] > more * 8
    assert not isinstance(lists_read(dataset, load(sets=["model.encoder=sage"])), TurnedLists)


def test_without_an_encoder_nodes_have_no_neighbours():
    with pytest.raises(UserError, match=r"`model.directions` is both, but `model.encoder` is none"):
        load(sets=["model.directions=both"])
