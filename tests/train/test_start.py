"""What a run starts from: a new folder, a checkpoint, or nothing that is left to train."""

import pytest
from open_parts import LINKS

from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.train.start import new_run, old_run


def test_a_new_run_has_no_checkpoint_and_its_folder_is_taken(tiny_dataset, tmp_path):
    with new_run(tiny_dataset, tmp_path / "run", load(sets=LINKS)) as start:
        assert start.saved is None
        assert start.finished is None
        assert start.config.storage.capacity == 2
        assert start.folder.config_file.exists()
        with pytest.raises(UserError, match="exists already"), new_run(tiny_dataset, tmp_path / "run", load(sets=LINKS)):
            pass
    with old_run(tmp_path / "run", None, (), None) as again:
        assert again.saved is None
        assert again.config == start.config


def test_a_finished_run_starts_nothing(link_run):
    with old_run(link_run, None, (), None) as start:
        assert start.finished is not None
        assert start.finished.cursor.epoch == start.config.training.epochs
