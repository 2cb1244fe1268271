"""Feature rows find their nodes, whatever the ids, types, memory or moment of a kill."""

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocess_tools import data_files, make

from marius_lite.errors import RunError, UserError
from marius_lite.graph import Dataset, Partitioning
from marius_lite.preprocess import plan
from marius_lite.preprocess.nodes.features import FeatureWriter, stored_bytes
from marius_lite.preprocess.readers.features import FeatureFile
from marius_lite.storage.checksum import file_checksum

DTYPES = st.sampled_from(["<f2", "<f4", ">f4", "<f8", "<i2", "<i8", ">u4", "?"])
INTS = st.integers(0, 2**63 - 1) | st.integers(0, 50)
TEXTS = st.text(st.characters(exclude_characters="\ufeff", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{Path(__file__).parents[1]}:{Path(__file__).parents[3]}"}


@st.composite
def named_nodes(draw):
    """(kind, raw id of each row, whether the ids need naming, edges among them)."""
    kind = draw(st.sampled_from(["int", "str"]))
    named = kind == "str" or draw(st.booleans())
    if named:
        names = draw(st.lists(INTS if kind == "int" else TEXTS, min_size=1, max_size=30, unique=True))
    else:
        names = list(range(draw(st.integers(1, 30))))
    end = st.sampled_from(names)
    return kind, names, named, draw(st.lists(st.tuples(end, end), min_size=1, max_size=20))


@settings(max_examples=25, deadline=None)
@given(named_nodes(), DTYPES, st.integers(1, 9), st.integers(1, 5), st.sampled_from([1, 100, 1000, 10**6]), st.integers(0, 3))
def test_each_node_has_the_row_of_its_raw_id(nodes, dtype, width, partitions, memory, seed):
    kind, names, named, edges = nodes
    source = np.arange(len(names) * width).reshape(-1, width).astype(dtype)
    with tempfile.TemporaryDirectory() as name, patch.object(plan, "pass_memory", lambda _: memory):
        folder = Path(name)
        (folder / "e.tsv").write_text("".join(f"{s}\t{d}\n" for s, d in edges), newline="")
        np.save(folder / "x.npy", source)
        options = {"node_ids": folder / "ids.txt"} if named else {}
        if named:
            (folder / "ids.txt").write_text("".join(f"{name}\n" for name in names), newline="")
        dataset = make(
            folder / "d",
            folder / "e.tsv",
            features=folder / "x.npy",
            ids=kind,
            delimiter="tab",
            comment="",
            header="no",
            columns="src,dst",
            partitions=partitions,
            seed=seed,
            **options,
        )
        dataset.verify()
        raw = dataset.raw_ids(0, dataset.manifest.nodes).to_pylist()
        assert sorted(raw) == sorted(names)
        stored = np.float16 if dtype == "<f2" else np.float32
        assert (dataset.features.width, dataset.features.dtype) == (width, stored)
        parts = [dataset.features.read(k) for k in range(dataset.partitioning.partitions)]
        assert [len(part) for part in parts] == [dataset.partitioning.size(k) for k in range(len(parts))]
        assert all(part.dtype == stored for part in parts)
        assert np.array_equal(np.concatenate(parts), source[[names.index(one) for one in raw]].astype(stored))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 200), st.integers(1, 20), st.integers(1, 12), st.integers(1, 20_000), st.booleans(), st.integers(0, 9))
def test_any_memory_writes_the_same_complete_table(nodes, width, partitions, memory, half, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(nodes).astype(np.uint32)
    rank = np.empty_like(order)
    rank[order] = np.arange(nodes, dtype=np.uint32)
    source = rng.standard_normal((nodes, width)).astype(np.float16 if half else np.float32)
    partitioning = Partitioning(nodes, partitions)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "x.npy", source)
        file = FeatureFile(folder / "x.npy")
        rank.tofile(folder / "ids")
        writer = FeatureWriter(file, folder / "t", folder / "ids", np.uint32, partitioning, folder / "spools", memory)
        writer.write()
        table = zarr.open_array(folder / "t")
        assert np.array_equal(table[:, :width], source[order])
        assert not table[:, width:].any()
        assert table.shape[1] * source.itemsize % 16 == 0
        assert table.attrs["values"] == [0, width]
        assert table.chunks == (partitioning.rows, table.shape[1])
        assert len(writer.files) == partitioning.partitions
        for path, (size, checksum) in writer.files.items():
            assert path.stat().st_size == size == partitioning.rows * table.shape[1] * source.itemsize
            assert file_checksum(path, size) == checksum
        assert not any((folder / "spools").iterdir())
        assert writer.spooled_bytes == source[order][writer.stretch_rows :].nbytes
        assert file.checksum == file_checksum(folder / "x.npy", file.size)
        assert stored_bytes(file) == nodes * table.shape[1] * source.itemsize


@pytest.fixture
def inputs(tmp_path):
    """Some edges, and features for 3,000 nodes of which many have no edge."""
    rng = np.random.default_rng(2)
    np.savetxt(tmp_path / "e.tsv", rng.integers(0, 3000, (2000, 2)), "%d", "\t")
    np.save(tmp_path / "x.npy", rng.standard_normal((3000, 200)).astype(np.float32))
    return tmp_path


def test_the_dataset_does_not_depend_on_memory(inputs):
    for memory in ("1MiB", "4GB"):
        make(inputs / memory, inputs / "e.tsv", features=inputs / "x.npy", memory=memory, partitions=4)
    little, much = (json.loads((inputs / memory / "report.json").read_text())["features"] for memory in ("1MiB", "4GB"))
    assert little["spooled_bytes"] > 1_000_000
    assert much["spooled_bytes"] == 0
    assert data_files(inputs / "1MiB") == data_files(inputs / "4GB")


def test_the_report_says_what_was_converted(inputs):
    np.save(inputs / "counts.npy", np.arange(6000).reshape(3000, 2))
    for name, converted in (("x", False), ("counts", True)):
        make(inputs / name, inputs / "e.tsv", features=inputs / f"{name}.npy")
        said = json.loads((inputs / name / "report.json").read_text())["features"]
        assert (said["rows"], said["dtype"], said["converted"]) == (3000, "float32", converted)
    assert said["source_dtype"] == "int64"


PEAK = """
import re, sys
from preprocess_tools import make
make(sys.argv[1], sys.argv[2], memory="16MiB", partitions=4, **dict(pair.split("=") for pair in sys.argv[3:]))
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def test_features_larger_than_memory_stay_within_it(tmp_path):
    nodes, memory = 30_000, 16 << 20
    np.save(tmp_path / "e.npy", np.stack([np.arange(nodes), np.arange(nodes)[::-1]], 1))
    source = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float64, (nodes, 500))
    source[:] = np.arange(nodes)[:, None]
    source.flush()
    assert source.nbytes > 7 * memory

    def peak(*arguments):
        command = [sys.executable, "-c", PEAK, *map(str, arguments)]
        done = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return int(done.stdout) * 1024

    without = peak(tmp_path / "without", tmp_path / "e.npy")
    np.save(tmp_path / "y.npy", np.tile(source[:] % 500 == np.arange(500), 6))
    given = {"with": ["features=x.npy"], "int8": ["features=x.npy", "feature_dtype=int8"], "several": ["labels=y.npy"]}
    for name, options in given.items():  # a second time: under load the threads of libraries may take .1 MB more
        peaks = (peak(tmp_path / f"{name}{turn}", tmp_path / "e.npy", *options) for turn in range(2))
        assert any(each < without + memory for each in peaks), name
    dataset = Dataset.open(tmp_path / "with0")
    rows = dataset.features.read(1)
    assert (rows == dataset.raw_ids(*_ends(dataset.partitioning.range(1))).to_numpy()[:, None]).all()


def _ends(part):
    return part.start, part.stop


def test_the_space_for_features_is_asked_for_before_writing(inputs, monkeypatch):
    monkeypatch.setattr("marius_lite.files.free_bytes", lambda _: 2_400_000)
    with pytest.raises(UserError, match=r"3,000 feature rows needs 2\.\d+ MB, 2\.40 MB are free"):
        make(inputs / "d", inputs / "e.tsv", features=inputs / "x.npy")
    make(inputs / "d", inputs / "e.tsv")


def test_after_a_full_disk_the_same_command_goes_on(inputs, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FeatureWriter, "_write_rows", full)
    with pytest.raises(RunError, match="disk is full"):
        make(inputs / "d", inputs / "e.tsv", features=inputs / "x.npy")
    assert not (inputs / "d").exists()
    monkeypatch.undo()
    make(inputs / "d", inputs / "e.tsv", features=inputs / "x.npy").verify()
    assert not (inputs / ".d.tmp").exists()


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1])
def test_kill_publishes_nothing_and_the_same_command_starts_over(inputs, delay):
    np.save(inputs / "large.npy", np.ones((3000, 8000), np.float32))
    command = "import sys; from preprocess_tools import make; make(sys.argv[1], sys.argv[2], features=sys.argv[3], memory='1MiB')"
    process = subprocess.Popen(
        [sys.executable, "-c", command, inputs / "d", inputs / "e.tsv", inputs / "large.npy"],
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
    )
    while not (inputs / ".d.tmp/tables/features").exists() and process.poll() is None:
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (inputs / "d").exists()
    make(inputs / "d", inputs / "e.tsv", features=inputs / "x.npy").verify()
    assert not (inputs / ".d.tmp").exists()
