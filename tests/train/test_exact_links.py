"""`sampling.scope: exact` for links: with few rows in memory a run has the bits of one with all; it is planned and refused."""

import json
import re

import pytest
from link_runs import amounts_to, stopped_twice

pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")

from marius_lite.rows.packer import Packer

SETTINGS = [
    "model.encoder=sage",
    "model.decoder=distmult",
    "model.dim=16",
    "model.layers=[8]",
    "sampling.fanouts=[4,3]",
    "training.threads=1",
    "training.batch_size=100",
    "negatives.count=50",
    "training.epochs=2",
]
FEW = ("storage.capacity=1", "sampling.scope=exact")
ALL = ("storage.capacity=4",)


def options(*more):
    return ["--config", "preset:plain", *(part for item in (*SETTINGS, *more) for part in ("--set", item))]


def train(cli, dataset, run, *more):
    assert cli("train", dataset, "--run", run, "--quiet", *options(*more)) == 0
    return amounts_to(run)


def machines(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line["machine"] for line in lines if line["kind"] == "epoch"]


@pytest.mark.parametrize(
    "more",
    [
        ["storage.window_edges=600"],
        ["model.inputs=both"],
        ["model.inputs=embeddings", "negatives.log_q=true", "negatives.degree_fraction=0.5", "storage.row_dtype=bfloat16"],
        ["negatives.degree_fraction=0.5", "negatives.log_q=true", "negatives.mask_known=true", "negatives.mask_self=true"],
        [
            "model.encoder=rgcn",
            "model.normalize_features=true",
            "model.dropout=0.2",
            "sampling.fanouts=[-1,{rel1: 2, default: 1}]",
        ],
        ["model.encoder=gcn", "model.reciprocal=false", "loss.relation_weight=0.3", "training.staleness=2"],
    ],
    ids=lambda more: more[0],
)
def test_the_bits_are_those_of_a_run_in_memory(cli, featured, tmp_path, more):
    expected = train(cli, featured, tmp_path / "all", *ALL, *(each for each in more if "staleness" not in each))
    assert train(cli, featured, tmp_path / "few", *FEW, *more) == expected
    for machine in machines(tmp_path / "few"):
        assert machine["neighbours_not_resident"] == 0 < machine["neighbours"]
        assert machine["bytes_read"] >= machine["bytes_written"] > 0
    assert not [path for path in (tmp_path / "few").iterdir() if path.name.startswith(".")]


def test_resident_neighbours_give_other_bits(cli, featured, tmp_path):
    """So the equality of the others says something."""
    expected = train(cli, featured, tmp_path / "few", *FEW, "training.epochs=1")
    assert train(cli, featured, tmp_path / "resident", "storage.capacity=2", "training.epochs=1") != expected


def test_stopped_in_mid_window_it_has_the_same_bits(cli, featured, tmp_path, monkeypatch):
    windows, pack = [], Packer.pack
    monkeypatch.setattr(Packer, "pack", lambda *arguments: (windows.append(len(arguments[1].batches)), pack(*arguments))[1])
    more = ("storage.packs_disk=900KB", "storage.window_edges=1000")
    expected = train(cli, featured, tmp_path / "all", *ALL, "storage.window_edges=1000")
    stopped_twice(cli, monkeypatch, tmp_path / "parts", featured, *options(*FEW, *more))
    assert len(windows) > 4
    assert windows[0] > 3  # the first stop, after three batches, is in the middle of one
    assert amounts_to(tmp_path / "parts") == expected


def test_the_plan_counts_what_a_run_reads(cli, featured, tmp_path, capfd):
    more = (*FEW, "storage.window_edges=600", "evaluation.every_epochs=0")
    assert cli("plan", featured, "--json", *options(*more)) == 0
    plan = json.loads(capfd.readouterr().out)
    assert plan["neighbours_not_resident"] == 0
    assert (plan["steps"], plan["capacity"], plan["ordering"]) == (1, 1, "in_memory")
    ways = {each["way"]: each for each in plan["prices"]["ways"]}
    assert list(ways) == ["resident", "exact"]
    assert ways["exact"]["absent"] == 0 < ways["exact"]["seconds"] < 60
    assert ways["resident"]["why_not"].startswith("`storage.capacity` is 1")
    train(cli, featured, tmp_path / "run", *more)
    for name, machine in zip(("first_epoch", "later_epoch"), machines(tmp_path / "run")):
        assert plan[name]["rows_read"] >= machine["bytes_read"] > plan[name]["rows_read"] / 8
        assert plan[name]["rows_written"] >= machine["bytes_written"] > 0
        assert ways["exact"]["read"] == pytest.approx(machine["bytes_read"], rel=0.5)
    assert cli("plan", featured, *options(*more)) == 0
    assert "of rows in the order of batches" in capfd.readouterr().out


def test_everything_may_fit(cli, featured, tmp_path, capfd):
    """Then nothing is packed. Left to itself a run of links draws among resident nodes, whatever fits."""
    for name, scope, capacity in (("exact", "exact", 4), ("auto", "resident", 2)):
        given = f"storage.capacity={capacity if name == 'auto' else 'auto'}"
        capfd.readouterr()
        assert cli("plan", featured, "--json", "--untimed", *options(f"sampling.scope={name}", given)) == 0
        plan = json.loads(capfd.readouterr().out)
        assert (plan["config"]["sampling"]["scope"], plan["capacity"]) == (scope, capacity)
        assert "packs" not in plan["disk"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["storage.packs_disk=1KB", "model.inputs=both"], "the samples of two batches take"),
        (["model.encoder=none", "model.layers=[]", "sampling.fanouts=auto"], "only an encoder samples neighbours"),
        (["negatives.count=all"], "every batch would need every row"),
        (["scale.ranks=2"], "lanes have partitions of their own"),
        (["storage.ordering=comet"], "all nodes are seen at once, leave it out"),
        (["storage.memory=1MB"], "this needs .* `storage.memory` is 1.00 MB: raise it, or lower storage.window_edges"),
        (["storage.capacity=5"], "the dataset has 4 partitions: give 1 to 4"),
        (["storage.packs_disk=1KB"], "`storage.packs_disk` is 1.00 KB, but two batches and what is kept take"),
        (["sampling.refresh_epochs=2"], "every epoch draws anew so far"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_cannot_be_exact_is_refused(cli, featured, tmp_path, capfd, more, said):
    assert cli("train", featured, "--run", tmp_path / "run", *options(*FEW, *more)) == 2
    assert re.search(said, capfd.readouterr().err)
    assert not (tmp_path / "run").exists()
