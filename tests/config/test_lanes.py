"""Settings that several lanes do not have are refused, each by its name."""

import pytest

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.estimate import plan_run


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["scale.ranks=2", "storage.ordering=beta"], "`storage.ordering` is beta"),
        (["storage.ordering=lanes"], "`scale.ranks` is 1"),
        (["scale.ranks=2", "task=node_classification", "model.encoder=sage"], "only link_prediction has several lanes"),
        (["scale.ranks=2", "device=cuda"], "`device` is cuda"),
        (["scale.ranks=2", "training.staleness=1"], "`training.staleness` is 1"),
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
    assert (plan["ordering"], plan["capacity"], plan["steps"], plan["swaps"]) == ("lanes", 2, 6, 4)
