"""The generators: what they promise about their graphs."""

import importlib.util
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from preprocess_tools import data_files, make

FOLDER = Path(__file__).parents[2] / "data_prep"


@pytest.fixture(autouse=True)
def import_each_other(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name, *arguments):
    return subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout


def test_the_oracle_scores_what_ranking_all_candidates_gives():
    module = load("planted_kg")
    nodes, group = 64, 4
    edges, masks = module.generate(nodes, 3, 700, group, 0.2, np.random.default_rng(0))
    known = defaultdict(set)
    for s, r, d in edges.tolist():
        known[s, r, "tail"].add(d)
        known[d, r, "head"].add(s)
    expected = ([], [])
    for side in ("tail", "head"):
        for s, r, d in edges[:100].tolist():
            given, wanted = (s, d) if side == "tail" else (d, s)
            scores = (np.arange(nodes) // group == (given // group ^ masks[r])).astype(float)
            others = [v for v in range(nodes) if v not in known[given, r, side] or v == wanted]
            expected[0].append(sum(scores[v] > scores[wanted] for v in others))
            expected[1].append(sum(scores[v] == scores[wanted] for v in others) - 1)
    above, equal = module.oracle_ties(edges[:100], edges, masks, nodes, group)
    assert (above.tolist(), equal.tolist()) == expected


def test_the_scores_of_ties():
    found = load("planted_kg").summary(np.array([0, 1]), np.array([2, 1]))
    assert found["mrr"] == pytest.approx((1 / 2 + 1 / 2.5) / 2)
    assert found["mrr_limit"] == pytest.approx(((1 + 1 / 2 + 1 / 3) / 3 + (1 / 2 + 1 / 3) / 2) / 2)
    assert (found["hits@1"], found["hits@3"], found["mean_rank"]) == (0, 1, 2.25)


def test_planted_kg_files(tmp_path):
    printed = run("planted_kg", tmp_path, "--nodes", 320, "--edges", 3000, "--relations", 4, "--held-out", 0.1)
    oracle = json.loads((tmp_path / "oracle.json").read_text())["oracle"]
    assert json.loads(printed) == oracle
    rows = {split: (tmp_path / f"{split}.tsv").read_text().splitlines() for split in ("train", "valid", "test")}
    assert {split: len(lines) for split, lines in rows.items()} == {s: oracle[s]["count"] for s in rows}
    assert len(set().union(*rows.values())) == sum(map(len, rows.values()))
    assert 0.3 < oracle["test"]["mrr"] < 0.8
    run("planted_kg", tmp_path / "one", "--nodes", 320, "--edges", 3000, "--relations", 4, "--one-file")
    assert set((tmp_path / "one/edges.tsv").read_text().splitlines()) == set().union(*rows.values())


def test_power_law_shards_are_reproducible_and_skewed(tmp_path, monkeypatch):
    module = load("power_law")
    monkeypatch.setattr(module, "SHARD", 30_000)
    for name in ("a", "b"):
        monkeypatch.setattr(sys, "argv", ["power_law", str(tmp_path / name), "--nodes", "5000", "--edges", "100000"])
        module.main()
    shards = sorted((tmp_path / "a").iterdir())
    assert [path.name for path in shards] == [f"edges-0000{k}.npy" for k in range(4)]
    assert all(path.read_bytes() == (tmp_path / "b" / path.name).read_bytes() for path in shards)
    edges = np.concatenate([np.load(path) for path in shards])
    assert edges.shape == (100_000, 2)
    assert edges.min() >= 0
    assert edges.max() < 5000
    assert not (edges[:, 0] == edges[:, 1]).any()
    degrees = np.sort(np.bincount(edges.ravel(), minlength=5000))[::-1]
    expected = (np.arange(5000) + 10.5) ** -0.8
    expected *= 200_000 / expected.sum()
    assert degrees[:50].sum() == pytest.approx(expected[:50].sum(), rel=0.05)
    assert degrees[1000:].sum() == pytest.approx(expected[1000:].sum(), rel=0.05)


@pytest.mark.parametrize("format", ["int", "str"])
def test_power_law_text_is_the_same_graph(tmp_path, format):
    run("power_law", tmp_path / "n", "--nodes", 99, "--edges", 1000)
    run("power_law", tmp_path / "t", "--nodes", 99, "--edges", 1000, "--format", format)
    rows = [line.split("\t") for line in (tmp_path / "t/edges-00000.tsv").read_text().splitlines()]
    prefix = "" if format == "int" else "user_"
    ids = [[int(field.removeprefix(prefix)) for field in row] for row in rows]
    assert ids == np.load(tmp_path / "n/edges-00000.npy").tolist()


ATTRIBUTED = ("--nodes", 3200, "--edges", 64_000, "--features", 32, "--classes", 8)


@pytest.fixture(scope="module")
def attributed(tmp_path_factory):
    """A small attributed graph: its folder, and the scores printed."""
    out = tmp_path_factory.mktemp("attributed")
    return out, json.loads(run("attributed_graph", out, *ATTRIBUTED, "--signal", 1.2))


def test_features_help_only_together_with_neighbours(attributed):
    out, printed = attributed
    assert json.loads((out / "oracle.json").read_text())["accuracy"] == printed
    raw, averaged = printed["raw"], printed["averaged"]
    assert 1 / 8 < raw["regression"] < raw["oracle"] < 0.5
    assert averaged["regression"] > 0.8
    assert averaged["oracle"] >= averaged["regression"] - 0.02
    assert raw["oracle"] < averaged["oracle"] - 0.3


def test_the_averaged_scores_are_of_true_averages(attributed):
    module = load("attributed_graph")
    out, _ = attributed
    edges, features = np.load(out / "edges-00000.npy"), np.load(out / "features.npy").astype(np.float64)
    wanted = np.sort(np.random.default_rng(0).permutation(3200)[:50])
    expected = [np.concatenate([features[[node]], features[edges[edges[:, 1] == node, 0]]]).mean(0) for node in wanted]
    assert np.allclose(module.averages(out, wanted), expected, atol=1e-4)


def test_the_attributed_graph_is_what_was_asked_for(attributed):
    out, _ = attributed
    edges, features, labels = (np.load(out / f"{name}.npy") for name in ("edges-00000", "features", "labels"))
    assert (edges.shape, edges.dtype, features.shape, features.dtype) == ((64_000, 2), np.int32, (3200, 32), np.float16)
    assert np.bincount(labels).tolist() == 8 * [400]
    assert edges.min() >= 0
    assert edges.max() < 3200
    assert not (edges[:, 0] == edges[:, 1]).any()
    assert np.mean(labels[edges[:, 0]] == labels[edges[:, 1]]) == pytest.approx(0.7 + 0.3 / 8, abs=0.02)
    means = np.stack([features[labels == label].mean(0, dtype=np.float64) for label in range(8)])
    assert np.linalg.norm(means, axis=1) == pytest.approx(8 * [1.2], abs=0.3)
    lists = [np.load(out / f"{name}.npy") for name in ("train", "valid", "test")]
    assert len(np.unique(np.concatenate(lists))) == sum(map(len, lists))
    assert [len(ids) / 3200 for ids in lists] == pytest.approx([0.1, 0.05, 0.1], abs=0.02)


def test_the_attributed_graph_is_reproducible(attributed, tmp_path):
    run("attributed_graph", tmp_path / "again", *ATTRIBUTED, "--signal", 1.2)
    assert data_files(tmp_path / "again") == data_files(attributed[0])
    run("attributed_graph", tmp_path / "other", *ATTRIBUTED, "--signal", 1.2, "--seed", 1)
    other = data_files(tmp_path / "other")
    assert all(other[path] != data for path, data in data_files(attributed[0]).items() if path.name != "labels.npy")


def test_nodes_that_are_no_multiple_of_the_classes():
    with pytest.raises(SystemExit, match="must be a multiple of --classes"):
        load("attributed_graph").AttributedGraph(101, 4, 3, 0.7, 1.0, 0.5, 0)


def test_the_attributed_graph_becomes_a_dataset(attributed, tmp_path):
    out, _ = attributed
    lists = {f"{name}_nodes": out / f"{name}.npy" for name in ("train", "valid", "test")}
    dataset = make(
        tmp_path / "d", f"{out}/edges-*.npy", features=out / "features.npy", labels=out / "labels.npy", partitions=8, **lists
    )
    assert (dataset.manifest.training_partitions, dataset.labels.classes, dataset.features.type) == (1, 8, "float16")
    assert dataset.node_counts == {name.removesuffix("_nodes"): len(np.load(path)) for name, path in lists.items()}
