"""The first epochs of a run, which compare edges with few nodes: how many they are, and what is evaluated."""

import pytest
from test_resolve import facts

from marius_lite.config.first_negatives import first_time, told, without_first
from marius_lite.config.load import load
from marius_lite.config.resolve import resolve
from marius_lite.config.schedule import evaluation_due
from marius_lite.errors import UserError

AUTO = ["negatives.first_epochs=auto", "training.epochs=100"]


def resolved(sets):
    return resolve(load(sets=sets), facts(partitions=4, rows=2500, edges_per_bucket=500))[0]


@pytest.mark.parametrize(
    ("sets", "epochs"),
    [
        ([*AUTO, "negatives.count=all"], 4),
        ([*AUTO, "negatives.count=2000"], 4),
        ([*AUTO, "negatives.count=1999"], 0),
        ([*AUTO, "negatives.count=1000", "negatives.first_count=100"], 4),
        ([*AUTO, "negatives.count=all", "negatives.first_count=501"], 0),
        ([*AUTO, "negatives.count=all", "storage.capacity=2", "negatives.first_count=251"], 0),
        ([*AUTO, "negatives.count=all", "training.epochs=9"], 3),
        ([*AUTO, "negatives.count=all", "training.epochs=2"], 0),
        ([*AUTO, "negatives.count=2000", "negatives.degree_fraction=0.5", "negatives.log_q=true"], 0),
        (["negatives.first_epochs=7", "training.epochs=8"], 7),
        ([], 0),
    ],
)
def test_how_many_they_are(sets, epochs):
    config = resolved(sets)
    assert config.negatives.first_epochs == config.first_epochs == epochs


@pytest.mark.parametrize(
    ("sets", "found"),
    [
        (["negatives.count=400"], "`negatives.first_count` is 500 and `negatives.count` 400"),
        (["negatives.log_q=true", "negatives.degree_fraction=0.5"], "`negatives.log_q` is true"),
        (["task=node_classification", "model.encoder=sage"], "only links are compared with others"),
    ],
)
def test_what_they_are_not_for(sets, found):
    with pytest.raises(UserError) as caught:
        load(sets=["negatives.first_epochs=3", *sets])
    assert "`negatives.first_epochs` is 3, but" in str(caught.value)
    assert found in str(caught.value)


@pytest.mark.parametrize(
    ("count", "every", "epochs", "due"),
    [
        (1000, 1, 6, {2, 3, 4, 5, 6}),
        (2000, 1, 6, {3, 4, 5, 6}),
        ("all", 1, 6, {3, 4, 5, 6}),
        ("all", 4, 9, {3, 4, 8, 9}),
        ("all", 2, 2, {2}),
        ("all", 0, 9, set()),
    ],
)
def test_evaluations_are_rarer_in_them(count, every, epochs, due):
    config = resolved(["negatives.first_epochs=3", f"negatives.count={count}", f"training.epochs={epochs}"])
    config = config.model_copy(update={"evaluation": config.evaluation.model_copy(update={"every_epochs": every})})
    assert {epoch + 1 for epoch in range(epochs) if evaluation_due(config, epoch)} == due


def test_rows_that_are_trained_already_need_none():
    assert without_first(load(sets=["negatives.first_epochs=3"])).first_epochs == 0


def test_what_is_said_of_them():
    config = resolved([*AUTO, "negatives.count=all"])
    assert told(config, 16_600) == [
        "epochs 1 to 4 compare an edge with 500 random nodes, later ones with all, and take about 5% of their time; epoch 4 is "
        "the first that is evaluated"
    ]
    assert told(resolved(["negatives.first_epochs=1", "training.epochs=5"]), 4000)[0].startswith(
        "epoch 1 compares an edge with 500"
    )
    assert told(resolved([]), 4000) == []


def test_they_are_shorter_the_more_negatives_follow():
    times = [first_time(resolved([f"negatives.count={count}"]), 4000) for count in (500, 1000, 2000, "all")]
    assert times[0] == 1
    assert times == sorted(times, reverse=True)
    assert times[-1] > 500 / 4000
