"""Settings that several lanes do not have are refused, each by its name."""

import re

import pytest

from marius_lite.config.lanes import doubtful
from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.estimate import plan_run

NODES = ["task=node_classification", "model.encoder=sage", "model.layers=[8]"]


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["scale.ranks=2", "storage.ordering=beta"], "`storage.ordering` is beta"),
        (["storage.ordering=lanes"], "`scale.ranks` is 1"),
        (["scale.relations_every=2"], "`scale.relations_every` is 2, but `scale.ranks` is 1"),
        (["scale.ranks=2", "scale.relations_every=2", "model.encoder=sage"], "`model.encoder` is sage, whose weights"),
        (["scale.ranks=2", "device=cuda"], "`device` is cuda"),
        (["scale.ranks=2", "training.staleness=1"], "`training.staleness` is 1"),
        (["scale.mode=adaptive"], "`scale.mode` is adaptive, but `scale.ranks` is 1"),
        (["scale.mode=adaptive", "scale.ranks=2"], "`scale.mode` is adaptive, but `task` is link_prediction"),
        (["scale.mode=adaptive", "scale.ranks=2", *NODES, "sampling.refresh_epochs=2"], "`sampling.refresh_epochs` is 2"),
        (["scale.mode=adaptive", "scale.ranks=2", *NODES, "device=cuda"], "`device` is cuda"),
        (["scale.ranks=2", "scale.merge=ring"], "`scale.merge` is ring, but `scale.mode` is lanes"),
        (["scale.merge_bits=8"], "`scale.merge_bits` is 8, but `scale.ranks` is 1"),
        (["scale.ranks=2", "scale.merge_bits=16"], "merge_bits"),
    ],
)
def test_what_lanes_do_not_have(sets, told):
    with pytest.raises(UserError, match=told):
        load(sets=sets)


def test_too_few_partitions(tiny_dataset):
    with pytest.raises(
        UserError, match=r"`scale.ranks` is 3, which needs 6 partitions or more, the dataset has 4: .*repartition"
    ):
        plan_run(tiny_dataset, load(sets=["scale.ranks=3"]))


def test_a_plan_has_all_lanes(tiny_dataset):
    plan = plan_run(tiny_dataset, load(sets=["scale.ranks=2", "model.dim=8"]))
    assert (plan["ordering"], plan["capacity"], plan["steps"], plan["swaps"]) == ("lanes_by_edges", 2, 6, 5)


@pytest.mark.parametrize(
    ("ranks", "partitions", "capacity", "told"),
    [
        (4, 16, 4, []),
        (1, 16, 4, []),
        (4, 24, 6, ["meet in pairs.* 16 partitions or a multiple"]),
        (6, 36, 12, ["meet in pairs.* 2, 3, 4, 5, 7 or 8 ranks"]),
        (4, 16, 2, ["drawn among 2 of 16 partitions"]),
    ],
)
def test_what_makes_a_model_worse_is_said(ranks, partitions, capacity, told):
    said = doubtful(load(sets=[f"scale.ranks={ranks}", f"storage.capacity={capacity}"]), partitions)
    assert len(said) == len(told)
    assert all(re.search(pattern, line) for pattern, line in zip(told, said, strict=True))


def test_lanes_share_a_batch_and_its_chunks():
    config = load(sets=["scale.ranks=4", "training.batch_size=1002", "negatives.chunks=2"])
    assert (config.lane_batch, config.lane_chunks) == (251, 1)
    config = load(sets=["training.batch_size=1002", "negatives.chunks=2"])
    assert (config.lane_batch, config.lane_chunks) == (1002, 2)
