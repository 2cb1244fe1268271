"""What nodes begin with, and the share of it that is set to zero while training."""

from dataclasses import replace

import numpy as np
import pytest

from marius_lite.config.facts import Facts, NodeFacts
from marius_lite.config.inputs import input_width
from marius_lite.config.load import load
from marius_lite.config.resolve import resolve
from marius_lite.errors import UserError

NODES = ["task=node_classification", "model.encoder=sage", "model.layers=[8]", "model.dropout=0.5"]
LINKS = Facts(
    nodes=4000,
    relations=1,
    splits={"train": 3000, "valid": 100},
    partitions=4,
    rows_per_partition=1000,
    bucket_counts=np.full((4, 4), 200),
    stride=416,
    available_memory=10**12,
    threads=2,
    cuda=False,
)


def shares(columns, training, *sets):
    facts = replace(LINKS, features=4 * columns, feature_width=columns, nodes_to_classify=NodeFacts(5, training, 4, 100))
    return resolve(load(sets=[*NODES, *sets]), facts)[0].model.input_dropout


@pytest.mark.parametrize(("columns", "training", "share"), [(12, 900, 0), (29, 900, 0), (30, 900, 0.5), (1433, 140, 0.5)])
def test_few_columns_beside_training_nodes_are_seen_as_they_are(columns, training, share):
    assert shares(columns, training) == share
    assert shares(columns, training, "model.dropout=0.2") == min(share, 0.2)


def test_the_neighbours_of_each_hop_and_relation_count():
    assert shares(25, 900) == 0
    assert shares(25, 900, "model.layers=[8,8]") == 0.5
    assert shares(25, 900, "model.encoder=rgcn") == 0
    assert shares(25, 900, "model.encoder=rgcn", "model.directions=both") == 0.5


def test_what_is_said_counts_and_learned_rows_lose_what_layers_do():
    assert shares(12, 900, "model.input_dropout=0.3") == 0.3
    assert shares(12, 900, "model.inputs=both") == 0.5
    assert shares(0, 900) == 0.5


@pytest.mark.parametrize("encoder", ["none", "sage"])
def test_links_have_none_and_refuse_it(encoder):
    sets = [f"model.encoder={encoder}", "model.layers=[100]" if encoder == "sage" else "model.layers=[]", "model.dropout=0.5"]
    assert resolve(load(sets=sets), LINKS)[0].model.input_dropout == 0
    with pytest.raises(UserError, match=r"`model.input_dropout` is 0.2, but `task` is link_prediction"):
        resolve(load(sets=[*sets, "model.input_dropout=0.2"]), LINKS)


def featured(columns, *sets):
    facts = replace(LINKS, features=4 * columns, feature_width=columns, nodes_to_classify=NodeFacts(5, 900, 4, 100))
    return resolve(load(sets=[*NODES, *sets]), facts)[0], facts


CODES = "model.codes={3: [0, 1, 5], 11: [-1, 1]}"


@pytest.mark.parametrize(("more", "width"), [([], 17), (["model.inputs=both", "model.dim=8"], 25)])
def test_each_code_is_a_number_more(more, width):
    assert input_width(*featured(12, CODES, *more)) == width


def test_the_codes_of_a_column_count_as_one_column():
    assert shares(12, 900, "model.codes={3: " + str(list(range(200))) + "}") == 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([], r"`model.codes` has column 11 of the features, but there are columns 0 to 10: leave it out"),
        (["model.inputs=embeddings"], r"`model.codes` has column 3 of the features, but there are none to learn from"),
    ],
)
def test_codes_of_columns_that_are_not_there_are_refused(more, told):
    with pytest.raises(UserError, match=told):
        featured(11, CODES, *more)


@pytest.mark.parametrize("codes", ["{-1: [0]}", "{0: []}", "{0: [0.5]}", "{a: [1]}", "[1]", "{0: [3, 3]}"])
def test_odd_codes_are_refused(codes):
    with pytest.raises(UserError, match=r"model.codes"):
        load(sets=[*NODES, f"model.codes={codes}"])
