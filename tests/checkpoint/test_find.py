import json
import os
import shutil
import threading

import pytest

from marius_lite.checkpoint import find as module
from marius_lite.checkpoint.find import find, find_to_read, hold, named, place, pointed, published
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.checkpoint.state import BestCheckpoint, Cursor, State
from marius_lite.errors import UserError


@pytest.fixture
def run(tmp_path):
    """A run of three checkpoints without links, the best of which is the first."""
    folder = RunFolder(tmp_path / "run")
    for epoch in (1, 2, 10):
        state = State(Cursor(epoch), "print", {}, 0, best=BestCheckpoint("1.0.0", 0.5) if epoch > 1 else None)
        (folder.checkpoints / state.cursor.name).mkdir(parents=True)
        (folder.checkpoints / state.cursor.name / "state.json").write_bytes(state.to_json())
    return folder


@pytest.mark.parametrize("name", ["2.0.0.bak", "2.0", "a.b.c", "1.2.3.4", "02.0.0", "-1.0.0", "²\u202f.0.0", "", "1.0.0\n"])
def test_names_that_are_no_cursor(run, name):
    assert place(name) is None
    if name.strip():
        (run.checkpoints / name).mkdir()
        (run.checkpoints / name / "state.json").write_text("{}")
    assert [path.name for path in named(run)] == ["1.0.0", "2.0.0", "10.0.0"]
    assert find(run, None).name == "10.0.0"
    if name:
        with pytest.raises(UserError, match=r"there are 1\.0\.0, 2\.0\.0, 10\.0\.0"):
            find(run, name)


def test_a_name_leads_nowhere_else(run, tmp_path):
    shutil.copytree(run.checkpoints / "2.0.0", tmp_path / "2.0.0")
    for name in ("../../2.0.0", str(tmp_path / "2.0.0"), "."):
        with pytest.raises(UserError, match="no checkpoint"):
            find(run, name)


def test_without_links_the_furthest_is_the_latest_and_knows_the_best(run):
    assert find(run, None).name == find(run, "latest").name == "10.0.0"
    assert find(run, "best").name == "1.0.0"
    assert pointed(run, "latest") is pointed(run, "best") is None


def test_a_link_counts_more_than_the_order(run):
    (run.checkpoints / "latest").symlink_to("2.0.0")
    (run.checkpoints / "best").symlink_to("10.0.0")
    assert find(run, None).name == "2.0.0"
    assert find(run, "best").name == "10.0.0"


@pytest.mark.parametrize("linked", [True, False])
def test_a_checkpoint_without_its_state_is_not_skipped(run, linked):
    if linked:
        (run.checkpoints / "latest").symlink_to("10.0.0")
    (run.checkpoints / "10.0.0" / "state.json").unlink()
    for name in (None, "latest", "10.0.0"):
        with pytest.raises(UserError, match=r"10\.0\.0: no whole checkpoint, it has no state.* there are 1\.0\.0, 2\.0\.0$"):
            find(run, name)
    assert find(run, "2.0.0").name == "2.0.0"
    assert [path.name for path in published(run)] == ["1.0.0", "2.0.0"]


def test_a_reader_takes_the_best_where_one_was_chosen(run):
    assert (find(run, None).name, find_to_read(run, None).name, find_to_read(run, "latest").name) == ("10.0.0", "1.0.0", "10.0.0")
    (run.checkpoints / "best").symlink_to("2.0.0")
    assert find_to_read(run, None).name == "2.0.0"
    (run.checkpoints / "2.0.0" / "state.json").unlink()
    with pytest.raises(UserError, match=r"2\.0\.0: no whole checkpoint"):
        find_to_read(run, None)
    (run.checkpoints / "best").unlink()
    shutil.rmtree(run.checkpoints / "1.0.0")  # a run that does not keep the best
    assert find_to_read(run, None).name == "10.0.0"


def test_a_link_to_what_is_gone_is_told(run):
    (run.checkpoints / "latest").symlink_to("11.0.0")
    with pytest.raises(UserError, match=r"no checkpoint 11\.0\.0, which `latest` names: there are 1\.0\.0, 2\.0\.0, 10\.0\.0"):
        find(run, None)


def test_a_copy_in_place_of_a_link_is_believed_only_if_it_is_sound(run):
    shutil.copytree(run.checkpoints / "2.0.0", run.checkpoints / "latest")
    assert find(run, None).name == "2.0.0"
    file = run.checkpoints / "latest" / "state.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"edges": 5}))
    with pytest.raises(UserError, match=r"latest/state\.json: damaged"):
        find(run, None)
    assert find(run, "1.0.0").name == "1.0.0"


def test_a_checkpoint_that_goes_while_it_is_looked_for(run, monkeypatch):
    """The run goes on between the reading of `latest` and the opening of the checkpoint."""
    (run.checkpoints / "latest").symlink_to("2.0.0")
    real, seen = module.files.hold, []

    def pruned_first(folder):
        seen.append(folder.name)
        if len(seen) == 1:
            shutil.rmtree(folder)
            (run.checkpoints / "latest").unlink()
            (run.checkpoints / "latest").symlink_to("10.0.0")
        return real(folder)

    monkeypatch.setattr(module.files, "hold", pruned_first)
    found, held = hold(run, "latest")
    os.close(held)
    assert (found.name, seen) == ("10.0.0", ["2.0.0", "10.0.0"])


def test_one_who_wants_to_hold_waits_for_one_who_removes(run):
    found = []
    with module.files.alone(run.checkpoints / "10.0.0") as unheld:
        assert unheld
        thread = threading.Thread(target=lambda: found.append(hold(run, "latest")))
        thread.start()
        thread.join(0.2)
        assert not found
        (run.checkpoints / "10.0.0").rename(run.checkpoints / ".10.0.0.tmp")
    thread.join(10)
    assert found[0][0].name == "2.0.0"
    os.close(found[0][1])


def test_a_copy_without_its_links_says_what_it_takes(run, caplog):
    assert find_to_read(run, None).name == "1.0.0"
    assert "taking 1.0.0, the best known without them; 10.0.0 may be better" in caplog.text
    caplog.clear()
    assert find_to_read(run, "2.0.0").name == "2.0.0"
    assert find_to_read(run, "latest").name == "10.0.0"
    shutil.copytree(run.checkpoints / "1.0.0", run.checkpoints / "best")  # as `cp -L` leaves it
    assert find_to_read(run, None).name == "1.0.0"
    assert not caplog.text
