"""`sampling.fanouts` by relation, `sampling.weighted` and `model.weight_unit` in whole runs: obeyed, planned, counted, resumed,
refused."""

import json

import numpy as np
import pytest
import yaml
from node_runs import bits
from weighted_dataset import with_weights

from marius_lite.graph import Dataset
from marius_lite.ordering import make_node_plan, make_plan
from marius_lite.sampling.neighbours import NeighbourLists

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

NODES = [
    "task=node_classification",
    "model.encoder=sage",
    "model.layers=[16]",
    "sampling.scope=resident",
    "training.batch_size=40",
    "training.epochs=2",
    "training.threads=1",
    "optimizer.dense.name=adam",
]
LINKS = [
    "model.encoder=sage",
    "model.decoder=distmult",
    "model.dim=16",
    "training.batch_size=100",
    "negatives.count=50",
    "negatives.chunks=1",
    "training.epochs=2",
    "training.threads=1",
]


def options(*settings):
    return ["--config", "preset:plain", *(part for item in settings for part in ("--set", item))]


def lines(run, kind):
    return [line for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()) if line["kind"] == kind]


@pytest.fixture(scope="module")
def two_relations(communities, cli, tmp_path_factory):
    """`communities` where edges inside a class are of relation `near`, the others of relation `far`; these weigh nothing."""
    folder, files = tmp_path_factory.mktemp("two"), communities.parent
    (src, dst), labels = np.load(files / "edges.npy").T, np.load(files / "labels.npy")
    names = np.where(labels[src] == labels[dst], "near", "far")
    (folder / "edges.tsv").write_text("".join(f"{s}\t{r}\t{d}\n" for s, r, d in zip(src, names, dst)))
    about = [part for name in ("features", "labels") for part in (f"--{name}", files / f"{name}.npy")]
    about += [part for name in ("train", "valid", "test") for part in (f"--{name}-nodes", files / f"{name}.npy")]
    assert (
        cli(
            "preprocess",
            folder / "edges.tsv",
            "--undirected",
            "--ids",
            "int",
            *about,
            "--output",
            folder / "plain",
            "--partitions",
            "8",
        )
        == 0
    )
    near = Dataset.open(folder / "plain").relation_names().index("near")
    return with_weights(folder / "plain", folder / "dataset", lambda src, dst, rel: rel == near).path


@pytest.fixture(scope="module")
def surrounded_by_weights(featured, tmp_path_factory):
    return with_weights(featured, tmp_path_factory.mktemp("weights") / "dataset", lambda src, dst, rel: rel == 1).path


@pytest.fixture
def drawn(monkeypatch):
    """How many edges of each relation were drawn of each node, most of all nodes."""
    sample, found = NeighbourLists.sample, []

    def watched(self, *arguments, **more):
        around = sample(self, *arguments, **more)
        rows = np.repeat(np.arange(len(around.indptr) - 1), np.diff(around.indptr))
        counts = np.zeros((len(around.indptr) - 1, 3), int)
        np.add.at(counts, (rows, around.rel), 1)
        found.append(counts.max(0, initial=0))
        return around

    monkeypatch.setattr(NeighbourLists, "sample", watched)
    return lambda dataset: dict(zip(Dataset.open(dataset).relation_names(), np.max(found, 0).tolist()))


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        (["sampling.fanouts=[{near: 3}, {near: 3}]"], {"near": 3, "far": 0}),
        (["sampling.fanouts=[{near: 2, default: 1}, {far: 1, near: 3}]"], {"near": 3, "far": 1}),
        (["sampling.fanouts=[4, 4]", "sampling.weighted=true"], {"near": 4, "far": 0}),
        (["sampling.fanouts=[{near: 2, default: 2}, 1]", "sampling.weighted=true"], {"near": 2, "far": 0}),
    ],
)
def test_nodes_are_classified_by_the_neighbours_asked_for(cli, two_relations, drawn, tmp_path, settings, most):
    assert cli("train", two_relations, "--run", tmp_path / "run", *options(*NODES, *settings, "storage.capacity=3")) == 0
    assert drawn(two_relations) == most


@pytest.mark.parametrize("inputs", ["embeddings", "features", "both"])
@pytest.mark.parametrize(
    ("settings", "most"),
    [
        (["sampling.fanouts=[{rel0: 2, default: 1}]"], {"rel0": 2, "rel1": 1, "rel2": 1}),
        (["sampling.fanouts=[3]", "sampling.weighted=true"], {"rel0": 0, "rel1": 3, "rel2": 0}),
    ],
)
def test_links_are_predicted_from_the_neighbours_asked_for(cli, surrounded_by_weights, drawn, tmp_path, settings, most, inputs):
    if "sampling.weighted=true" in settings:  # relation 1 is the one that weighs something
        names = Dataset.open(surrounded_by_weights).relation_names()
        most = {name: 3 * (place == 1) for place, name in enumerate(names)}
    more = [f"model.inputs={inputs}", "storage.capacity=2"]
    assert cli("train", surrounded_by_weights, "--run", tmp_path / "run", *options(*LINKS, *settings, *more)) == 0
    assert drawn(surrounded_by_weights) == most


def test_threads_and_a_resume_change_nothing(cli, two_relations, tmp_path):
    more = ["sampling.fanouts=[{near: 2, default: 1}, 3]", "sampling.weighted=true", "storage.capacity=3"]
    assert cli("train", two_relations, "--run", tmp_path / "one", *options(*NODES, *more, "training.epochs=1")) == 0
    assert cli("resume", tmp_path / "one", "--set", "training.epochs=2") == 0
    assert cli("train", two_relations, "--run", tmp_path / "whole", *options(*NODES, *more)) == 0
    assert cli("train", two_relations, "--run", tmp_path / "two", *options(*NODES, *more, "training.threads=2")) == 0
    one, whole, two = ([line["loss"] for line in lines(tmp_path / run, "batch")] for run in ("one", "whole", "two"))
    assert one == whole
    np.testing.assert_allclose(one, two, rtol=1e-4)


@pytest.mark.parametrize("encoder", ["gcn", "sage"])
def test_neighbours_count_by_weights_where_nothing_is_said(cli, two_relations, tmp_path, capfd, encoder):
    """As many as stand for the mean; a resume, and another number of resident partitions, change no bit."""
    exact = [f"model.encoder={encoder}", "sampling.scope=exact", "sampling.fanouts=[4,3]", "evaluation.every_epochs=1"]

    def bits_of(run, *more):
        assert cli("train", two_relations, "--run", tmp_path / run, *options(*NODES, *exact, *more)) == 0
        return bits(tmp_path / run)

    whole = bits_of("whole", "training.epochs=2")
    unit = yaml.safe_load((tmp_path / "whole/config.yaml").read_text())["config"]["model"]["weight_unit"]
    adjacency = Dataset.open(two_relations).adjacency
    assert unit == pytest.approx(np.mean(np.concatenate([adjacency.read(k, weights=True).weights for k in range(8)])))
    assert f"model.weight_unit={unit:g}, because edges have weights" in capfd.readouterr().err
    assert bits_of("few", "training.epochs=2", "storage.capacity=2") == whole
    bits_of("part", "training.epochs=1")
    assert cli("resume", tmp_path / "part", "--set", "training.epochs=2") == 0
    assert bits(tmp_path / "part")[1:] == whole[1:]
    assert bits_of("alike", "training.epochs=2", "model.weight_unit=0")[1] != whole[1]
    assert cli("eval", tmp_path / "few", "--json") == 0


@pytest.mark.parametrize("task", ["nodes", "links"])
def test_the_edges_that_swaps_move_are_those_of_what_was_loaded(cli, two_relations, surrounded, tmp_path, task):
    """Every step's and epoch's figure is the sum over the partitions that came, an evaluation between the epochs or not."""
    links = [*LINKS, "storage.ordering=beta"]
    path, settings, capacity = (two_relations, NODES, 1) if task == "nodes" else (surrounded, links, 2)
    dataset = Dataset.open(path)
    more = [f"storage.capacity={capacity}", "training.epochs=3", "evaluation.every_epochs=2"]
    assert cli("train", path, "--run", tmp_path / "run", *options(*settings, *more)) == 0
    counts, p, here, steps = np.diff(dataset.adjacency.starts), dataset.partitioning.partitions, set(), []
    for epoch in range(3):
        plan = (
            make_node_plan("node_classification", p, capacity, dataset.manifest.training_partitions, 0, epoch)
            if task == "nodes"
            else make_plan("beta", p, capacity, 0, epoch)
        )
        for step in plan.steps:
            steps.append((epoch, step.index, int(counts[sorted(set(step.resident) - here)].sum())))
            here = set(step.resident)
    told = [(line["epoch"], line["step"], line["machine"]["edges_moved"]) for line in lines(tmp_path / "run", "step")]
    assert told == steps
    assert sum(moved for _, _, moved in steps) > 2 * counts.max()
    for line in lines(tmp_path / "run", "epoch"):
        assert line["machine"]["edges_moved"] == sum(moved for epoch, _, moved in steps if epoch == line["epoch"])


def test_the_plan_tells_them_and_counts_the_weights(cli, two_relations, capfd):
    plans = []
    for weighted in ("false", "true"):
        capfd.readouterr()
        more = options(
            *NODES, "storage.capacity=3", "sampling.fanouts=[{near: 2, default: 1}, 3]", f"sampling.weighted={weighted}"
        )
        assert cli("plan", two_relations, *more, "--json") == 0
        plans.append(json.loads(capfd.readouterr().out))
    assert cli("plan", two_relations, *more) == 0
    assert "neighbours  fanouts near: 2, default: 1; 3; by weight" in capfd.readouterr().out
    plain, weighted = plans
    most = int(np.diff(Dataset.open(two_relations).adjacency.starts).max())
    assert weighted["memory"]["edges"] - plain["memory"]["edges"] == 4 * most * plain["memory"]["slots"]
    assert weighted["first_epoch"]["edges_read"] > plain["first_epoch"]["edges_read"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["sampling.fanouts=[{nearby: 3}, 2]"], "`sampling.fanouts` names relation 'nearby'"),
        (["sampling.fanouts=[{near: -2}, 2]"], "greater than or equal to -1"),
        (["sampling.fanouts=[{near: 2}]"], "`sampling.fanouts` has 1 numbers"),
    ],
)
@pytest.mark.parametrize("command", ["train", "plan"])
def test_what_cannot_work_is_refused(cli, two_relations, tmp_path, capfd, settings, said, command):
    capfd.readouterr()
    where = ["--run", tmp_path / "run"] if command == "train" else []
    assert cli(command, two_relations, *where, *options(*NODES, *settings)) == 2
    told = capfd.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert said in told[0]
    assert not (tmp_path / "run").exists()


def test_without_weights_nothing_is_drawn_by_them(cli, surrounded, tmp_path, capfd):
    capfd.readouterr()
    assert cli("train", surrounded, "--run", tmp_path / "run", *options(*LINKS, "sampling.weighted=true")) == 2
    assert "`sampling.weighted` is true, but its edges have no weights" in capfd.readouterr().err
    assert not (tmp_path / "run").exists()
