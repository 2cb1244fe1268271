"""A run opened for reading: the checkpoint that a name means, as it was configured, kept while it is open."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.save import recover
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.tasks.checkpoint import open_checkpoint


@pytest.mark.parametrize(("name", "place"), [("latest", "2.0.0"), ("1.0.0", "1.0.0")])
def test_names_mean_places(link_run, name, place):
    found = open_checkpoint(link_run, name)
    assert (found.path.name, found.state.cursor.name) == (place, place)
    assert isinstance(found.config.storage.capacity, int)
    assert found.memory.total > 0
    rows = np.concatenate([found.table.read_rows(k, np.arange(75), slice(0, 8)) for k in range(4)])
    assert np.isfinite(rows).all()
    found.close()


def test_features_alone_have_no_table(class_run):
    found = open_checkpoint(class_run, None)
    assert found.table is None
    found.close()


def test_a_dataset_is_where_it_was_moved_to(link_run, tiny_dataset, featured, tmp_path):
    moved = shutil.copytree(tiny_dataset, tmp_path / "moved")
    found = open_checkpoint(link_run, None, moved)
    assert found.dataset.path == moved
    assert found.dataset.fingerprint == Dataset.open(tiny_dataset).fingerprint
    found.close()
    with pytest.raises(UserError, match="fingerprint"):
        open_checkpoint(link_run, None, featured)


def test_a_run_that_has_saved_nothing_says_so(link_run, tmp_path):
    run = shutil.copytree(link_run, tmp_path / "run", symlinks=True)
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(UserError, match="no checkpoint yet"):
        open_checkpoint(run, None)


def test_recovery_leaves_an_open_one_alone(link_run, tmp_path):
    run = shutil.copytree(link_run, tmp_path / "run", symlinks=True)
    found = open_checkpoint(run, "1.0.0")
    recover(RunFolder(run))
    assert found.table.read_rows(0, np.arange(2), slice(0, 8)).shape == (2, 8)
    found.close()


@pytest.mark.parametrize(
    ("device", "there", "expected"), [("cpu", 2, "cpu"), ("cuda", 0, "cpu"), ("cuda", 1, "cuda"), ("cuda:1", 1, "cpu")]
)
def test_its_model_is_computed_where_it_was_trained_if_that_is_here(link_run, monkeypatch, device, there, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    found = open_checkpoint(link_run, None)
    trained = replace(found, config=found.config.model_copy(update={"device": device}))
    assert trained.device == torch.device(expected)
    found.close()
