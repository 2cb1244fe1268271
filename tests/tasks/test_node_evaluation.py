"""Figures count all nodes of a split."""

from contextlib import closing

import numpy as np
import pytest

from marius_lite.tasks import node_blocks
from marius_lite.tasks.checkpoint import open_checkpoint
from marius_lite.tasks.class_probabilities import open_classifier
from marius_lite.tasks.node_evaluation import classify_split


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
