"""Presets: each is a valid configuration with every decoder, and each kind of graph gets the one that suits it."""

from dataclasses import replace

import pytest

from marius_lite.config import presets
from marius_lite.config.decoders import DECODERS
from marius_lite.config.load import load
from marius_lite.config.presets import GraphShape, suitable
from marius_lite.errors import UserError

SMALL = GraphShape(nodes=15_000, edges=300_000, relations=200, classified=False, available_memory=16 << 30)


@pytest.mark.parametrize("name", presets.PRESETS)
def test_every_preset_is_valid(name):
    config = load(f"preset:{name}")
    assert (config == load()) == (name == "plain")


@pytest.mark.parametrize("name", ["kg-small", "kg", "kg-large", "social", "encoder", "plain"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_every_decoder_finds_settings_that_fit_it(name, decoder):
    assert load(f"preset:{name}", [f"model.decoder={decoder}"]).model.decoder == decoder


def test_what_is_given_goes_over_a_preset_and_over_what_its_decoder_changes():
    config = load("preset:kg-small", ["model.decoder=transe", "regularizer.name=n3", "regularizer.weight=0.2"])
    assert config.regularizer.weight == 0.2
    assert config.loss.relation_weight == 0


@pytest.mark.parametrize("decoder", ["{a: 1}", "[1]", "3", "null", "rot"])
def test_a_decoder_that_is_none_is_refused(decoder):
    with pytest.raises(UserError, match=r"`model\.decoder`"):
        load("preset:kg", [f"model.decoder={decoder}"])


def test_an_unknown_preset_names_the_known_ones():
    with pytest.raises(UserError, match=r"preset:foo: no such preset: there are kg-small, kg, .*plain"):
        load("preset:foo")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (SMALL, "kg-small"),
        (replace(SMALL, nodes=10**6), "kg"),
        (replace(SMALL, nodes=10**8), "kg-large"),
        (replace(SMALL, available_memory=1 << 27), "kg"),  # holds 256 numbers a node, not 1,024
        (replace(SMALL, available_memory=1 << 20), "kg-large"),
        (replace(SMALL, relations=1), "social"),
        (replace(SMALL, relations=1, nodes=10**8), "kg-large"),
        (replace(SMALL, classified=True), "gcn"),
        (replace(SMALL, classified=True, nodes=10**6), "sage"),
        (replace(SMALL, featureless=True), "gcn"),
        (replace(SMALL, featureless=True, unlike=True), "sage"),
        (replace(SMALL, featureless=True, nodes=10**6), "gcn"),  # of drawn neighbours
        (replace(SMALL, classified=True, nodes=10**6, far=True), "gcn"),
        (replace(SMALL, classified=True, nodes=10**6, placed=True), "gcn"),
        (replace(SMALL, classified=True, nodes=10**6, placed=True, unlike=True), "sage"),
        (replace(SMALL, featureless=True, split=True), "kg-small"),  # edges to predict were set apart
    ],
)
def test_each_kind_of_graph_gets_its_own(shape, expected):
    name, why = suitable(shape)
    assert name == expected
    assert f"{shape.nodes:,} nodes" in why


@pytest.mark.parametrize(
    ("shape", "task", "expected"),
    [
        (replace(SMALL, classified=True), "node_classification", "gcn"),
        (replace(SMALL, classified=True), "link_prediction", "kg-small"),
        (SMALL, "link_prediction", "kg-small"),
        (SMALL, "node_classification", "sage"),  # gcn divides features, which there may not be
        (replace(SMALL, encoded=True), "link_prediction", "encoder"),
        (replace(SMALL, encoded=True, edges=10**7), "link_prediction", "plain"),
        (replace(SMALL, encoded=True, classified=True), "node_classification", "gcn"),
        (SMALL, "poetry", "plain"),
    ],
)
def test_a_task_that_is_given_gets_a_preset_of_its_own(shape, task, expected):
    assert suitable(shape, task)[0] == expected
