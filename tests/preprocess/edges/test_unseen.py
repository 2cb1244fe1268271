"""Edges of other splits that training prepares for, or gives away: counted exactly, whatever the memory."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import make

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.report import leak_lines
from marius_lite.graph.trained import trained_nodes, trained_relations
from marius_lite.preprocess.edges import unseen

EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=30)


def _made(folder, train, others, **options):
    for name, edges in {"train": train, **others}.items():
        (folder / name).write_text("".join(f"{s}\t{r}\t{d}\n" for s, r, d in edges))
    make(folder / "d", folder / "train", **{name: folder / name for name in others}, overwrite=True, **options)
    return json.loads((folder / "d/report.json").read_text())


@settings(deadline=None, max_examples=20)
@given(EDGES, EDGES, EDGES, st.integers(1, 3), st.booleans(), st.booleans())
def test_overlaps_are_those_of_sets(tmp_path_factory, train, valid, test, partitions, undirected, drop):
    folder = tmp_path_factory.mktemp("leaks")
    report = _made(
        folder, train, {"valid": valid, "test": test}, partitions=partitions, undirected=undirected, drop_duplicates=drop
    )

    def stored(edges):
        both = [edge for s, r, d in edges for edge in ([(s, r, d), (d, r, s)] if undirected and s != d else [(s, r, d)])]
        return list(set(both)) if drop else both

    trained = set(stored(train))
    pairs = {(s, d) for s, _, d in trained}
    nodes, relations = {end for s, _, d in train for end in (s, d)}, {r for _, r, _ in train}
    for name, edges in (("valid", stored(valid)), ("test", stored(test))):
        found = report["edges"][name]
        assert found["also_in_train"] == sum(edge in trained for edge in edges)
        assert found["unseen_in_train"] == sum(not ({s, d} <= nodes and r in relations) for s, r, d in edges)
        turned = sum(s != d and (d, r, s) in trained for s, r, d in edges)
        assert found.get("reverse_in_train", "not counted") == ("not counted" if undirected else turned)
        joined = sum(s != d and (d, s) in pairs and (d, r, s) not in trained for s, r, d in edges)
        assert found.get("inverse_in_train", "not counted") == ("not counted" if undirected else joined)
    assert report["warnings"][-len(leak_lines(report)) :] == leak_lines(report)[-len(report["warnings"]) :]


def test_memory_and_spilled_runs_change_no_count(tmp_path):
    rng = np.random.default_rng(1)
    train, test = (rng.integers(0, 40_000, (count, 3)) % [40_000, 5, 40_000] for count in (60_000, 12_000))
    test[:3000] = train[:3000, ::-1]
    test[3000:6000] = (train[3000:6000, ::-1] + [0, 1, 0]) % [40_000, 5, 40_000]
    found = []
    for memory in ("1MiB", "1GB"):  # sorted in runs, degrees from the buckets, or everything at once
        report = _made(tmp_path, train.tolist(), {"test": test.tolist()}, partitions=3, memory=memory)
        assert (report["sorted_runs"] > 0) == (memory == "1MiB")
        found.append(report["edges"]["test"])
    assert found[0] == found[1]
    assert found[0]["reverse_in_train"] >= 2990
    assert found[0]["inverse_in_train"] >= 2990
    assert found[0]["unseen_in_train"] > 500


@pytest.mark.parametrize(("edges", "nodes"), [(1, 1), (7, 11), (1000, 1000)])
def test_pieces_of_any_size_give_the_same(tmp_path, monkeypatch, edges, nodes):
    rng = np.random.default_rng(3)
    train, test = (np.stack([rng.integers(0, limit, 40) for limit in (60, 9, 60)], 1).tolist() for _ in range(2))
    expected = _made(tmp_path, train, {"test": test}, partitions=3)["edges"]["test"]["unseen_in_train"]
    dataset = Dataset.open(tmp_path / "d")
    trained = trained_nodes(dataset, np.arange(dataset.manifest.nodes))
    (tmp_path / "trained").write_bytes(trained.data)
    monkeypatch.setattr(unseen, "LEAST_EDGES", edges)
    monkeypatch.setattr(unseen, "LEAST_NODES", nodes)
    found = unseen.unseen_edges({"test": dataset.edges("test")}, tmp_path / "trained", trained_relations(dataset), 0)
    assert found == {"test": expected}
    assert 0 < expected < 40


@pytest.mark.parametrize("undirected", [False, True])
def test_an_edge_and_its_reverse_are_dealt_to_one_split(tmp_path, undirected):
    rng = np.random.default_rng(2)
    edges = np.unique(rng.integers(0, 50, (900, 2)), axis=0)
    both = np.concatenate([edges, edges[:, ::-1]])
    np.save(tmp_path / "e.npy", both)
    make(tmp_path / "d", tmp_path / "e.npy", split="0.5,0.3,0.2", undirected=undirected)
    report = json.loads((tmp_path / "d/report.json").read_text())
    dataset_warnings = "\n".join(report["warnings"])
    assert "reverse" not in dataset_warnings
    assert all(entry.get("reverse_in_train", 0) == 0 for entry in report["edges"].values())
    assert [entry.get("inverse_in_train") for entry in report["edges"].values()] == [None] + (
        [None] * 2 if undirected else [0] * 2
    )
    assert ("leave that out, or give" in dataset_warnings) == undirected


def test_a_symmetric_file_stored_both_ways_once_warns_of_nothing(tmp_path):
    np.save(tmp_path / "e.npy", np.stack([np.arange(0, 300), np.arange(1, 301)], 1))
    make(tmp_path / "d", tmp_path / "e.npy", undirected=True)
    assert json.loads((tmp_path / "d/report.json").read_text())["warnings"] == []


def test_lines_say_how_many_of_how_many():
    report = {
        "edges": {
            "train": {"stored": 5},
            "valid": {"stored": 3, "also_in_train": 1},
            "test": {"stored": 10_000, "also_in_train": 0, "reverse_in_train": 702, "unseen_in_train": 9_979},
        }
    }
    assert [line.split(" edges")[0] for line in leak_lines(report)] == [
        "valid: 1 of 3",
        "test: 702 of 10,000",
        "test: 9,979 of 10,000",
    ]
    assert len(leak_lines(report, "test")) == 2
    assert leak_lines({"edges": {"test": {"stored": 3}}}) == []


@pytest.mark.parametrize(("inverses", "told"), [(300, True), (16, True), (15, False)])
def test_inverse_relations_are_told_where_they_decide(tmp_path, inverses, told):
    """As hypernym and hyponym: training has each answer under the other name."""
    rng = np.random.default_rng(4)
    pairs = np.unique(rng.integers(0, 400, (1200, 2)), axis=0)
    forward = [(s, 0, d) for s, d in pairs.tolist() if s < d]
    report = _made(tmp_path, forward[300:] + [(d, 1, s) for s, _, d in forward[:inverses]], {"test": forward[:300]})
    assert report["edges"]["test"]["inverse_in_train"] == inverses
    assert any("another relation joins the other way around" in line for line in leak_lines(report)) == told
