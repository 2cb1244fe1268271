"""MatrixMarket coordinate files: entries are edges, ids count from 1."""

import bz2
import gzip

import pytest
from preprocess_tools import decoded, make

from marius_lite.errors import UserError

ROWS = [(1, 2), (2, 3), (4, 4), (5, 1)]


def matrix(kind="pattern general", value="", size="5 5 4", rows=ROWS):
    lines = [f"%%MatrixMarket matrix coordinate {kind}", "% by hand", size, *(f"{r} {c}{value}" for r, c in rows)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("name", ["m.mtx", "m.tsv"])
@pytest.mark.parametrize(
    "content",
    [
        matrix(),
        matrix("real general", " -1.5e+00"),
        matrix("integer symmetric", " 3"),
        matrix("complex hermitian", " 1.0 0.5"),
        matrix().replace(b" ", b"   ", 0).replace(b"\n5 5 4", b"\n\n  5 5\t4"),
        matrix().replace(b"\n", b"\r\n"),
        matrix().replace(b"%%MatrixMarket", b"%%matrixmarket"),
        bz2.compress(matrix()),
    ],
)
def test_entries_are_edges(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    dataset = make(tmp_path / "d", tmp_path / name)
    assert decoded(dataset) == {(r, "", c): 1 for r, c in ROWS}
    assert dataset.manifest.nodes == 5


def test_a_symmetric_matrix_both_ways(tmp_path):
    (tmp_path / "m").write_bytes(matrix("pattern symmetric", size="6 6 4"))
    dataset = make(tmp_path / "d", tmp_path / "m", undirected=True, drop_self_loops=True)
    assert decoded(dataset) == {edge: 1 for r, c in ROWS if r != c for edge in ((r, "", c), (c, "", r))}
    assert dataset.manifest.nodes == 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (matrix("pattern general", size="4 4 4"), r"m\.mtx:7: column 1 \(src\): no id from 1 to 4.*: '5 1'"),
        (matrix(size="5 5 7"), r"m\.mtx: 4 edges where its header says 7"),
        (matrix("real general"), r"m\.mtx:4: 2 columns where 3 were expected"),
        (matrix(size="5 6 4"), r"m\.mtx:3: 5 rows and 6 columns"),
        (matrix(size="x"), r"m\.mtx:3: no size line: 'x'"),
        (matrix("pattern round"), r"m\.mtx:1: .*the first line must be"),
        (b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", r"m\.mtx:1: .*the first line must be"),
        (b"%%MatrixMarket matrix coordinate pattern general\n", r"m\.mtx:1: no size line"),
    ],
)
def test_bad_matrices(tmp_path, content, message):
    (tmp_path / "m.mtx").write_bytes(content)
    with pytest.raises(UserError, match=message) as raised:
        make(tmp_path / "d", tmp_path / "m.mtx")
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["m.mtx"]


def test_what_scipy_writes(tmp_path):
    scipy_io, sparse = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.sparse")
    rows, columns = zip(*ROWS)
    coo = sparse.coo_matrix(([0.5] * 4, ([r - 1 for r in rows], [c - 1 for c in columns])), shape=(5, 5))
    scipy_io.mmwrite(str(tmp_path / "m.mtx"), coo)
    assert decoded(make(tmp_path / "d", tmp_path / "m.mtx")) == {(r, "", c): 1 for r, c in ROWS}


@pytest.mark.parametrize("name", ["m.mtx", "m.mtx.gz"])
def test_a_file_of_that_name_without_its_banner_is_no_edge_list(tmp_path, name):
    content = b"4 4 2\n1 2 3\n2 3 3\n"  # read as edges it has a relation 4
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(UserError, match=r"mtx(\.gz)?:1: '4 4 2': the first line must be .* with --format text"):
        make(tmp_path / "d", tmp_path / name)
    assert make(tmp_path / "d", tmp_path / name, format="text").manifest.edges == {"train": 3}
