"""Fixtures for whole commands: a tiny dataset, and the command line in this process."""

import gc
import os
import stat

import community_graph
import hypothesis
import numpy as np
import pytest
from faults import fault_library  # noqa: F401
from forks import fork_server, forked, forked_processes  # noqa: F401
from open_parts import CLASSES, ENCODER, LINKS

from marius_lite.cli.main import run as run_command

# How long an example takes says how busy the machine and its disk are.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")

LONGEST = [
    "end_to_end/test_kill_encoders.py",
    "fuzz/test_fuzz.py",
    "docs/test_site.py",
    "end_to_end/test_kill_each_call.py",
    "end_to_end/test_kill_any_time.py",
    "preprocess/test_restart.py",
    "preprocess/test_memory.py",
    "train/test_adaptive.py",
    "preprocess/test_update_restart.py",
    "preprocess/test_repartition_restart.py",
    "docs/test_pages.py",
    "end_to_end/test_out_of_core.py",
    "quality/test_popularity.py",
    "tune/test_trial.py",
    "docs/test_tune_page.py",
    "test_ray.py",
]
"""Files of few tests that take 10 s or more. They begin first: no processor is then left alone with one of them at the end."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """What is imported stays: it need not be searched for garbage, neither while it comes nor by each collection afterwards."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    places = {os.path.join(os.path.dirname(__file__), name): place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(str(item.path), len(places)))


@pytest.fixture(scope="session", autouse=True)
def disk_not_awaited():
    """A sync of a file or folder returns at once: no test in this process can see the difference, and all waited for the disk.

    What is synced, and when, is told by traces of whole commands: end_to_end/test_synced_before_named.py, test_power_cut.py.
    """
    real = os.fsync

    def fsync(file):
        kind = os.fstat(file if isinstance(file, int) else file.fileno()).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            real(file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield


@pytest.fixture(scope="session")
def cli():
    """Runs one command in this process; its exit code."""
    return lambda *arguments: run_command([str(argument) for argument in arguments])


@pytest.fixture(scope="session")
def tiny_edges(tmp_path_factory):
    """300 nodes, 3 relations, 2,400 edges that are not quite random: a destination is near its source."""
    rng = np.random.default_rng(0)
    src, rel = rng.integers(300, size=2400), rng.integers(3, size=2400)
    dst = (src + 10 * rel + rng.integers(5, size=2400)) % 300
    path = tmp_path_factory.mktemp("tiny") / "edges.tsv"
    path.write_text("".join(f"node{s}\trel{r}\tnode{d}\n" for s, r, d in zip(src, rel, dst)))
    return path


@pytest.fixture(scope="session")
def tiny_dataset(tiny_edges, cli):
    """`tiny_edges` in 4 partitions, split 80:10:10."""
    folder = tiny_edges.parent / "dataset"
    assert cli("preprocess", tiny_edges, "--output", folder, "--partitions", "4", "--split", "0.8,0.1,0.1") == 0
    return folder


@pytest.fixture(scope="session")
def surrounded(tiny_edges, cli):
    """`tiny_dataset` with the in-edges that an encoder needs."""
    folder = tiny_edges.parent / "surrounded"
    assert (
        cli("preprocess", tiny_edges, "--output", folder, "--partitions", "4", "--split", "0.8,0.1,0.1", "--adjacency", "in") == 0
    )
    return folder


@pytest.fixture(scope="session")
def featured(tiny_edges, cli):
    """`surrounded` with features, float16, that say where on the circle of ids a node is, each in a magnitude of its own."""
    folder, rng = tiny_edges.parent, np.random.default_rng(1)
    angles = np.arange(300)[:, None] * (2 * np.pi / 300) * np.array([1, 5, 20, 40])
    place = np.concatenate([np.cos(angles), np.sin(angles)], 1) * rng.uniform(0.5, 2, (300, 1))
    np.save(folder / "place.npy", place.astype(np.float16))
    (folder / "ids.txt").write_text("".join(f"node{n}\n" for n in range(300)))
    assert (
        cli(
            "preprocess",
            tiny_edges,
            "--output",
            folder / "featured",
            "--partitions",
            "4",
            "--split",
            "0.8,0.1,0.1",
            "--adjacency",
            "in",
            "--features",
            folder / "place.npy",
            "--node-ids",
            folder / "ids.txt",
        )
        == 0
    )
    return folder / "featured"


@pytest.fixture(scope="session")
def communities(tmp_path_factory, cli):
    """`community_graph` in 8 partitions, two of which hold the training nodes."""
    folder = tmp_path_factory.mktemp("communities")
    assert cli("preprocess", *community_graph.write(folder), "--output", folder / "dataset", "--partitions", "8") == 0
    return folder / "dataset"


@pytest.fixture(scope="session")
def several(tmp_path_factory, cli):
    """`communities` whose nodes have any number of classes."""
    folder = tmp_path_factory.mktemp("several")
    assert cli("preprocess", *community_graph.write_several(folder), "--output", folder / "dataset", "--partitions", "8") == 0
    return folder / "dataset"


@pytest.fixture(scope="session")
def train_once(tmp_path_factory, cli):
    """Trains a run that tests only read."""

    def train(name, dataset, sets):
        run = tmp_path_factory.mktemp(name) / "run"
        settings = ["--config", "preset:plain", *(f"--set={item}" for item in sets)]
        assert cli("train", dataset, "--run", run, "--quiet", *settings) == 0
        return run

    return train


@pytest.fixture(scope="session")
def link_run(train_once, tiny_dataset):
    """Two epochs of link prediction on `tiny_dataset`, two of four partitions resident."""
    return train_once("links", tiny_dataset, LINKS)


@pytest.fixture(scope="session")
def encoded_run(train_once, featured):
    """The same through an encoder over features and learned rows."""
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    return train_once("encoded", featured, [*LINKS, *ENCODER])


@pytest.fixture(scope="session")
def class_run(train_once, communities):
    """Two epochs of node classification on `communities`."""
    pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    return train_once("classes", communities, CLASSES)
