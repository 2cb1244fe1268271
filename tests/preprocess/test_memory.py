"""Peak memory of preprocess: --memory and what the program itself takes, for the inputs that make it hard."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

MEMORY, BESIDE = 64_000_000, 300_000_000
COMMAND = """
import sys
from pathlib import Path
from marius_lite.cli.main import run
code = run(["preprocess", *sys.argv[1:]])
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
sys.exit(code)
"""  # not getrusage: its peak is that of the process which started this one, where that was larger


def peak(*arguments, code=0):
    """Bytes that the command took at most; it must end with this exit code."""
    command = [sys.executable, "-c", COMMAND, *map(str, arguments), "--memory", str(MEMORY)]
    done = subprocess.run(command, text=True, capture_output=True, cwd=Path(__file__).parents[2])
    assert done.returncode == code, done.stderr
    return int(done.stdout.splitlines()[-1]) * 1024


def hex_names(numbers):
    """A name of 24 bytes for each number."""
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    names = np.full((len(numbers), 24), ord("x"), np.uint8)
    for place in range(16):
        names[:, 8 + place] = digits[(numbers >> np.uint64(4 * place)) & np.uint64(15)]
    return names


@pytest.fixture(scope="module")
def many_strings(tmp_path_factory):
    """1.5 M edges between 3 M distinct names."""
    path = tmp_path_factory.mktemp("strings") / "edges.tsv"
    numbers = np.random.default_rng(0).permutation(3_000_000).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    names = hex_names(numbers).reshape(-1, 2, 24)
    rows = np.full((len(names), 50), ord("\t"), np.uint8)
    rows[:, :24], rows[:, 25:49], rows[:, 49] = names[:, 0], names[:, 1], ord("\n")
    rows.tofile(path)
    return path


@pytest.fixture(scope="module")
def star(tmp_path_factory):
    """4 M edges between 800,000 nodes, a third of them to one node."""
    path, rng = tmp_path_factory.mktemp("star") / "edges.npy", np.random.default_rng(1)
    edges = rng.integers(800_000, size=(4_000_000, 2))
    edges[::3, 1] = 77
    np.save(path, edges)
    return path


def test_many_strings(many_strings, tmp_path):
    assert peak(many_strings, "--output", tmp_path / "d", "--undirected") < MEMORY + BESIDE


@pytest.mark.parametrize(("partitions", "lists"), [(1, "none"), pytest.param(256, "none", marks=pytest.mark.slow), (1024, "in")])
def test_a_star(star, tmp_path, partitions, lists):
    options = ["--partitions", partitions, "--undirected", "--adjacency", lists]
    assert peak(star, "--output", tmp_path / "d", *options) < MEMORY + BESIDE


def test_columns_of_three_splits(star, tmp_path):
    """Five columns of each are written at once."""
    edges = np.load(star)
    np.save(tmp_path / "more.npy", np.hstack([edges, np.arange(2 * len(edges)).reshape(-1, 2) % 1000]))
    options = ["--columns", "src,dst,weight,time", "--split", "0.4,0.3,0.3", "--adjacency", "in", "--partitions", 64]
    assert peak(tmp_path / "more.npy", "--output", tmp_path / "d", *options, "--undirected") < MEMORY + BESIDE


def test_a_star_in_partitions_by_locality(star, tmp_path):
    assert peak(star, "--output", tmp_path / "d", "--partitions", 16, "--partitioner", "locality") < MEMORY + BESIDE


def test_types_of_many_nodes(many_strings, tmp_path):
    """In text: 3 M rows, as many as there are nodes; their types do not stand in memory at once."""
    names = np.fromfile(many_strings, np.uint8).reshape(-1, 2, 25)[:, :, :24].reshape(-1, 24)
    rows = np.full((len(names), 33), ord("\t"), np.uint8)
    rows[:, :24] = names
    rows[:, 25:32], rows[:, 32] = np.frombuffer(b"authors", np.uint8), ord("\n")
    rows[::3, 25:32] = np.frombuffer(b"reviews", np.uint8)
    rows.tofile(tmp_path / "types.tsv")
    assert peak(many_strings, "--node-types", tmp_path / "types.tsv", "--output", tmp_path / "d") < MEMORY + BESIDE
    assert json.loads((tmp_path / "d/report.json").read_text())["node_types"] == {"authors": 2_000_000, "reviews": 1_000_000}


@pytest.mark.parametrize("line", [pytest.param(b"# " + b"-" * 97 + b"\n", marks=pytest.mark.slow), b"\n"])
def test_lines_before_the_first_row(line, tmp_path):
    """More of them than memory, of which nothing is kept."""
    (tmp_path / "e.tsv").write_bytes(line * (120_000_000 // len(line)) + b"a\tb\n")
    assert peak(tmp_path / "e.tsv", "--output", tmp_path / "d", "--partitions", 1) < MEMORY + BESIDE


def test_a_pickle_that_asks_for_room(tmp_path):
    """A few bytes that make the unpickler hold billions of places."""
    with zipfile.ZipFile(tmp_path / "e.pt", "w") as archive:
        archive.writestr("e/data.pkl", b"\x80\x02}r\xff\xff\xff\x1f.")
    assert peak(tmp_path / "e.pt", "--output", tmp_path / "d", code=2) < MEMORY + BESIDE
