"""Figures count all nodes of a split."""

import logging
from contextlib import closing

import numpy as np
import pytest

from marius_lite.tasks import node_blocks
from marius_lite.tasks.checkpoint import open_checkpoint
from marius_lite.tasks.class_probabilities import open_classifier
from marius_lite.tasks.node_evaluation import classify_split, warn_of_chance


@pytest.mark.parametrize(("split", "count"), [("train", 120), ("valid", 180), ("test", 300)])
def test_all_of_a_split_is_classified_however_large_a_block(class_run, monkeypatch, split, count):
    with closing(open_checkpoint(class_run, None)) as found:

        def classified():
            return classify_split(found.dataset, open_classifier(found), found.config, split, found.run.path, found.table)

        whole = classified()
        assert whole["count"] == count
        assert np.sum(whole["confusion"]) == count
        assert whole["accuracy"] == np.trace(whole["confusion"]) / count
        monkeypatch.setattr(node_blocks, "SCORES", 28)
        again = classified()
        assert again.pop("log_loss") == pytest.approx(whole.pop("log_loss"))  # which is summed block by block
        assert again == whole


@pytest.mark.parametrize(
    ("area", "right", "counts", "told"),
    [
        (0.9, 0.9, [50, 50], False),
        (0.51, 0.5, [50, 50], True),
        (0.54, 0.58, [500, 500], False),
        (0.54, 0.58, [50, 50], True),  # eight of a hundred may be chance
        (0.51, 0.9, [90, 10], True),
        (0.9, 0.9, [90, 10], False),  # nodes of the rare class are ordered well
        (0.6, 0.84, [90, 10], True),
        (0.6, 0.85, [90, 10], False),  # five of a hundred may be chance
        (1.0, 1.0, [27, 3], False),
        (0.4, 0.5, [2, 2], False),  # too few to say anything
        (None, 1.0, [100], False),  # there is one class alone
        (None, None, [], False),
    ],
)
def test_classes_told_hardly_better_than_by_chance_are_warned_of(caplog, area, right, counts, told):
    each = {str(name): {"count": count} for name, count in enumerate(counts)}
    with caplog.at_level(logging.WARNING, "marius_lite"):
        warn_of_chance({"count": sum(counts), "accuracy": right, "per_class": each, "roc_auc": area}, several=False)
    assert ("always answering the most frequent class would tell" in caplog.text) == told
    assert bool(caplog.text) == told


def test_fewer_than_the_most_frequent_class_are_told_where_the_rare_ones_count(caplog):
    each = {"often": {"count": 900}, "rare": {"count": 100}}
    warn_of_chance({"count": 1000, "accuracy": 0.5, "per_class": each, "roc_auc": 0.9}, several=False, by_accuracy=False)
    assert not caplog.text


@pytest.mark.parametrize(("area", "told"), [(0.512345, True), (0.7, False), (None, False)])
def test_so_are_several_classes_of_a_node(caplog, area, told):
    with caplog.at_level(logging.WARNING, "marius_lite"):
        warn_of_chance({"count": 100, "accuracy": 0.1, "roc_auc": area}, several=True)
    assert ("hardly better than by chance (roc_auc is 0.51)" in caplog.text) == told
