"""A checkpoint opened for questions: its buffer holds what the decoder scores, and nothing stays behind when it closes."""

from contextlib import closing

import numpy as np
import pytest

from marius_lite.errors import UserError
from marius_lite.tasks.checkpoint import open_checkpoint
from marius_lite.tasks.opened_links import open_run


def vectors(opened):
    found = []
    for k in range(4):
        opened.buffer.enter([k])
        found.append(opened.buffer.resident.view(k)[:, :8].copy())
    return np.concatenate(found)


def test_without_an_encoder_they_are_the_rows(link_run):
    with closing(open_run(link_run, "1.0.0")) as opened, closing(open_checkpoint(link_run, "1.0.0")) as found:
        assert opened.checkpoint.name == "1.0.0"
        assert not opened.model.training
        rows = np.concatenate([found.table.read_rows(k, np.arange(75), slice(0, 8)) for k in range(4)])
        np.testing.assert_array_equal(vectors(opened), rows)


def test_an_encoders_vectors_go_with_the_run_that_was_opened(encoded_run):
    with closing(open_run(encoded_run, None)) as opened:
        one = vectors(opened)
        assert len(list(encoded_run.glob(".vectors*"))) == 1
    assert not list(encoded_run.glob(".vectors*"))
    assert np.isfinite(one).all()
    with closing(open_run(encoded_run, None)) as opened:
        np.testing.assert_array_equal(vectors(opened), one)


def test_nodes_have_no_links_to_predict(class_run):
    with pytest.raises(UserError, match="its task is node_classification, it has no links to predict"):
        open_run(class_run, None)
