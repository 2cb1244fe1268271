import os
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marius_lite.checkpoint import run_folder
from marius_lite.checkpoint.run_folder import RunFolder
from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset


@pytest.fixture(scope="module")
def dataset(tiny_dataset):
    return Dataset.open(tiny_dataset)


def test_the_record_comes_back(tmp_path, dataset):
    config = load(sets=["model.dim=8", "checkpoint.every_minutes=2.5"])
    made = run_folder.create(tmp_path / "deep" / "er" / "run", dataset, config, {"threads": 2})
    with made as run, pytest.raises(UserError, match="another process"), run.locked():
        pass
    record = run_folder.read_record(run)
    assert run_folder.config_of(run, record) == config
    assert run_folder.open_dataset(run, record).fingerprint == dataset.fingerprint
    with run.locked():
        pass


def test_brackets_without_end_are_damage(tmp_path):
    (tmp_path / "config.yaml").write_text("[" * 100_000)
    with pytest.raises(UserError, match=r"config\.yaml: damaged"):
        run_folder.read_record(RunFolder(tmp_path))


@pytest.mark.parametrize(
    ("left", "said"),
    [("format_version: 1\nprogram_version: '1'\n", "it has no `config`"), ("", "it is no record"), ("- 1\n", "it is no record")],
)
def test_a_record_that_is_cut_says_what_it_lacks(tmp_path, left, said):
    (tmp_path / "config.yaml").write_text(left)
    with pytest.raises(UserError, match=rf"config\.yaml: damaged, no run can be read from it: {said}"):
        run_folder.read_record(RunFolder(tmp_path))


def test_what_a_killed_start_leaves_is_no_run(tmp_path, dataset):
    run = tmp_path / "run"
    run.mkdir()
    (run / "lock").touch()
    (run / "config.yaml.tmp").write_text("format_ver")
    with run_folder.create(run, dataset, load(), {}):
        pass
    assert sorted(os.listdir(run)) == ["config.yaml", "lock"]


@pytest.mark.parametrize("there", ["run/config.yaml", "run/other", "run"])
def test_what_stands_already_is_refused(tmp_path, dataset, there):
    file = tmp_path / there
    file.parent.mkdir(exist_ok=True)
    file.touch()
    with pytest.raises(UserError, match="exists already"), run_folder.create(tmp_path / "run", dataset, load(), {}):
        pass
    assert file.read_bytes() == b""


@given(st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_record_is_refused_unless_it_is_as_it_was_written(tmp_path, dataset, data):
    run = RunFolder(tmp_path)
    record = {"format_version": 1, "config": load().model_dump(mode="json"), "dataset": {"fingerprint": "ab12"}, "rate": 1e-9}
    run_folder.write_record(run, record)
    assert run_folder.read_record(run) == record
    run_folder.write_record(run, run_folder.read_record(run))
    assert run_folder.read_record(run) == record
    written = bytearray(run.config_file.read_bytes())
    written[data.draw(st.integers(0, len(written) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    run.config_file.write_bytes(written)
    with suppress(UserError):
        assert run_folder.read_record(run) == record


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "not a run folder"),
        ("", "damaged"),
        ("a: [", "damaged"),
        ("format_version: 1", "damaged"),
        ("format_version: 1\nconfig: {}\ndataset: 3", "damaged"),
        ("format_version: 9\nprogram_version: 4.0\nconfig: {}\ndataset: {fingerprint: a}", "written by marius_lite 4.0"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path, text, said):
    if text is not None:
        (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=said):
        run_folder.read_record(RunFolder(tmp_path))
