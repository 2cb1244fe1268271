"""Runs whose edges are drawn by weight: they follow from the seed, go on anywhere, and without weights nothing changes."""

import json

import numpy as np
import pytest
from link_runs import amounts_to, stopped_twice
from open_parts import ENCODER, LINKS
from weighted_dataset import with_weights

from marius_lite.config.load import load
from marius_lite.estimate import plan_run
from marius_lite.graph.dataset import Dataset
from marius_lite.train.run import train_run

BY_WEIGHT = [*LINKS, "training.weight_power=0.5", "training.batch_size=60", "checkpoint.every_minutes=null"]


def options(*sets):
    return [each for setting in (*BY_WEIGHT, *sets) for each in ("--set", setting)]


def weigh(src, dst, rel):
    return 1 + (src * 7 + dst * 3 + rel) % 11


@pytest.fixture(scope="module")
def weighed(surrounded, tmp_path_factory):
    """`surrounded`, whose edges weigh 1 to 11."""
    folder = tmp_path_factory.mktemp("weighed") / "dataset"
    with_weights(surrounded, folder, weigh)
    return folder


@pytest.fixture(scope="module")
def alike(surrounded, tmp_path_factory):
    """`surrounded`, whose edges all weigh 3."""
    folder = tmp_path_factory.mktemp("alike") / "dataset"
    with_weights(surrounded, folder, lambda src, dst, rel: np.full(len(src), 3.0))
    return folder


@pytest.mark.parametrize(
    "sets",
    [
        ["storage.capacity=2"],
        ["storage.capacity=4", "storage.window_edges=300"],
        ["storage.capacity=2", "scale.ranks=2", "training.batch_size=40"],
        pytest.param([*ENCODER[:2], "storage.capacity=2"], marks=pytest.mark.slow),
        pytest.param(["storage.capacity=2", "negatives.log_q=true", "negatives.degree_fraction=0.5"], marks=pytest.mark.slow),
    ],
)
def test_the_same_bits_whether_stopped_or_not_and_whatever_is_read_ahead(cli, weighed, tmp_path, monkeypatch, sets):
    for name, more in (("whole", []), ("later", ["storage.prefetch=false"])):
        assert cli("train", weighed, "--run", tmp_path / name, *options(*sets, *more)) == 0
    stopped_twice(cli, monkeypatch, tmp_path / "parts", weighed, *options(*sets))
    expected = amounts_to(tmp_path / "whole")
    assert amounts_to(tmp_path / "parts") == expected
    assert amounts_to(tmp_path / "later") == expected


def test_without_the_setting_and_with_equal_weights_nothing_changes(cli, surrounded, weighed, alike, tmp_path):
    sets = ["storage.capacity=2"]
    for name, dataset, power in (
        ("bare", surrounded, "0"),
        ("ignored", weighed, "0"),
        ("equal", alike, "1"),
        ("by", weighed, "1"),
    ):
        assert cli("train", dataset, "--run", tmp_path / name, *options(*sets, f"training.weight_power={power}")) == 0
    bare = amounts_to(tmp_path / "bare")
    assert amounts_to(tmp_path / "ignored") == bare
    assert amounts_to(tmp_path / "equal") == bare
    (told, _, rows), (others, _, changed) = bare, amounts_to(tmp_path / "by")
    assert [line[:4] for line in told] == [line[:4] for line in others]
    assert rows != changed


def test_an_epoch_has_as_many_edges_as_without_and_their_memory_is_planned(weighed, tmp_path):
    config = load(sets=[*BY_WEIGHT, "storage.capacity=2"])
    train_run(weighed, tmp_path / "run", config)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    edges = Dataset.open(weighed).edges("train").total
    trained = sum(line["edges"] for line in lines if line["kind"] == "batch" and line["epoch"] == 0)
    assert trained == edges
    without = load(sets=[*BY_WEIGHT, "storage.capacity=2", "training.weight_power=0"])
    weighs, weighs_not = (plan_run(weighed, each)["memory"] for each in (config, without))
    assert weighs["edges"] > weighs_not["edges"]
    assert weighs["orders_ahead"]
