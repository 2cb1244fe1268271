"""An index is whole or absent, whenever the command that makes it is killed; and it says what it is."""

import os
import shutil

import pytest

import marius_lite as ml
from marius_lite import files
from marius_lite.errors import UserError
from marius_lite.search.index_folder import place_of, read_index

pytest.importorskip("faiss", reason="an index needs the extra `search`")
STEPS = 40


class Killed(BaseException):
    """Stands for SIGKILL: nothing is cleaned up after it."""


def killed_at(patch, step):
    """Stop at the file operation ``step``; after it nothing is removed any more."""
    done, remove = [], files.remove_tree

    def counted(operation):
        def call(*arguments, **options):
            done.append(operation)
            if len(done) > step:
                raise Killed
            return operation(*arguments, **options)

        return call

    for module, name in ((files, "sync"), (os, "rename"), (os, "replace"), (os, "mkdir")):
        patch.setattr(module, name, counted(getattr(module, name)))
    patch.setattr(files, "remove_tree", lambda path: None if len(done) > step else remove(path))


@pytest.fixture
def run(link_run, tmp_path):
    return shutil.copytree(link_run, tmp_path / "run", symlinks=True)


def test_killed_at_any_file_operation(run, monkeypatch):
    ml.index_run(run, "ivf-flat")
    first, seen = read_index(run, "inner").record, set()
    kept = shutil.copytree(run / "index", run.parent / "kept")
    for step in range(STEPS):
        try:
            with monkeypatch.context() as patch:
                killed_at(patch, step)
                ml.index_run(run, "flat")
            break
        except Killed:
            found = read_index(run, "inner")
            seen.add(found.record["plan"]["kind"] if found else None)
            with ml.open_search(run) as search:
                assert len(search.neighbors(["node1"])[0]["neighbors"]) == 10
            assert found is None or found.record == first or found.record["plan"]["kind"] == "flat"
            shutil.rmtree(run / "index")
            shutil.copytree(kept, run / "index")
    else:
        raise AssertionError(f"not done after {STEPS} file operations")
    assert {"ivf-flat", None} <= seen
    ml.index_run(run)
    assert sorted(os.listdir(run / "index")) == ["inner", "lock"]
    assert not list(run.glob(".vectors-*"))


def test_a_disk_that_fails_leaves_the_old_index(run, monkeypatch):
    ml.index_run(run)
    before = read_index(run, "inner").record
    monkeypatch.setattr(files, "free_bytes", lambda _: 1000)
    with pytest.raises(UserError, match=r"inner: the index needs .* 1.00 KB are free"):
        ml.index_run(run, "flat")
    assert read_index(run, "inner").record == before


def test_it_says_what_it_is(run):
    made = ml.index_run(run, recall=1.0)
    assert made["index"] == str(place_of(run, "inner"))
    assert (made["kind"], made["nodes"], made["lists"]) == ("flat", 300, 1)
    assert made["recall@10 of neighbors"] == made["recall@10 of answers"] == 1.0
    assert read_index(run, "inner").record["probing"][0] == 1


@pytest.mark.parametrize(("recall", "told"), [(1.0, True), (0.01, False)])
def test_an_index_that_looks_into_all_lists_saves_nothing(run, recall, told, caplog):
    made = ml.index_run(run, "ivf-flat", recall=recall)
    assert (made["lists of a query"] == made["lists"]) == told
    assert ("saves nothing: --exact is as quick" in caplog.text) == told


def test_an_index_has_the_same_bytes_each_time(run):
    ml.index_run(run, "ivf-pq")
    before = read_index(run, "inner").record
    ml.index_run(run, "ivf-pq")
    assert read_index(run, "inner").record == before


@pytest.mark.parametrize("recall", [0, 1.1, float("nan")])
def test_recall_is_a_share(run, recall):
    with pytest.raises(UserError, match="a share of the answers"):
        ml.index_run(run, recall=recall)


def test_a_missing_faiss_is_named(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(UserError, match=r"pip install 'marius-lite\[search\]'"):
        ml.index_run(run)


def test_memory_is_kept_to(run):
    with pytest.raises(UserError, match="give more with --memory"):
        ml.index_run(run, memory="1MB")
    with pytest.raises(UserError, match="--memory: 'much' is not a size"):
        ml.index_run(run, memory="much")
