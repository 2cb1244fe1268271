"""Edges as other programs export them: sparse matrices in .npz, OGB, GraphBolt and Marius folders, source over destination."""

import gzip

import numpy as np
import pytest
from preprocess_tools import decoded, make

from marius_lite.errors import UserError

EDGES = np.random.default_rng(0).integers(0, 50, (3000, 3))
EDGES = EDGES[np.lexsort((EDGES[:, 2], EDGES[:, 0]))]
SRC, REL, DST = EDGES.T
INDPTR = np.searchsorted(SRC, np.arange(61))  # rows 50 to 59 are empty


def pairs(rows=EDGES):
    return sorted((s, "", d) for s, _, d in rows.tolist())


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("dtype", [np.int32, np.uint64, ">i8"])
@pytest.mark.parametrize("names", [("row", "col"), ("src", "dst"), ("indptr", "indices")])
def test_sparse_matrices(tmp_path, save, dtype, names):
    first = INDPTR if names[0] == "indptr" else SRC
    save(
        tmp_path / "m.npz",
        **{
            names[0]: first.astype(dtype),
            names[1]: DST.astype(dtype),
            "data": np.ones(3000),
            "shape": np.array([60, 60]),
            "format": np.array(b"csr" if names[0] == "indptr" else b"coo"),
        },
    )
    dataset = make(tmp_path / "d", tmp_path / "m.npz", memory="1MiB")
    assert sorted(decoded(dataset).elements()) == pairs()
    assert sorted(dataset.raw_ids(0, 60).to_pylist()) == list(range(60))


def test_relations_and_rows_longer_than_a_block(tmp_path):
    src = np.repeat([0, 3], [20_000, 5])
    np.savez(
        tmp_path / "m.npz",
        indptr=np.array([0, 20_000, 20_000, 20_000, 20_005]),
        indices=np.arange(20_005) % 4,
        rel=np.arange(20_005) % 3,
    )
    found = decoded(make(tmp_path / "d", tmp_path / "m.npz", memory="1MiB"))
    assert sorted(found.elements()) == sorted((s, i % 3, i % 4) for i, s in enumerate(src.tolist()))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indptr": [0, 2, 1], "indices": [0, 1]}, r"m\.npz:indptr: must begin with 0, never fall"),
        ({"indptr": [0, 1, 1], "indices": [0, 1]}, r"m\.npz:indptr: must .* number of entries, 2"),
        ({"indptr": [1, 1, 2], "indices": [0, 1]}, r"m\.npz:indptr: must begin with 0"),
        ({"row": [0, 1], "col": [0, 1, 2]}, r"m\.npz:row: 2 entries, .*m\.npz:col has 3"),
        ({"row": [0, 1], "col": [0, -1]}, r"m\.npz: row 1: dst: negative id"),
        ({"row": [0.5, 1], "col": [0, 1]}, r"m\.npz:row: an array of float64"),
        ({"indptr": [0, 1, 2], "indices": [0, 1], "format": b"csc"}, r"m\.npz: a matrix in csc format: save matrix\.tocsr\(\)"),
        ({"row": [0, 1], "col": [0, 1], "shape": [2, 3]}, r"m\.npz:shape: \[2, 3\]: rows and columns must be the same nodes"),
    ],
)
def test_bad_matrices(tmp_path, arrays, message):
    np.savez(tmp_path / "m.npz", **{name: np.array(values) for name, values in arrays.items()})
    with pytest.raises(UserError, match=message):
        make(tmp_path / "d", tmp_path / "m.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


def test_source_over_destination(tmp_path):
    over = np.stack([SRC, DST])
    np.save(tmp_path / "e.npy", over)
    np.savez_compressed(tmp_path / "e.npz", edge_index=over)
    for name in ("e.npy", "e.npz"):
        assert sorted(decoded(make(tmp_path / f"{name}.d", tmp_path / name, memory="1MiB")).elements()) == pairs()


def ogb(folder, nodes="60", edges=EDGES):
    (folder / "raw").mkdir(parents=True)
    (folder / "raw/edge.csv.gz").write_bytes(gzip.compress("".join(f"{s},{d}\n" for s, _, d in edges.tolist()).encode()))
    (folder / "raw/num-node-list.csv.gz").write_bytes(gzip.compress(f"{nodes}\n".encode()))
    return folder


def test_ogb_folder(tmp_path):
    folder = ogb(tmp_path / "ogbn")
    for name, edges in {"a": folder, "b": folder / "raw", "c": folder / "raw/edge.csv.gz"}.items():
        dataset = make(tmp_path / name, edges)
        assert sorted(decoded(dataset).elements()) == pairs()
        assert dataset.manifest.nodes == 60


def test_ogb_folders_that_are_not_read(tmp_path):
    with pytest.raises(UserError, match=r"num-node-list\.csv\.gz: 2 lines"):
        make(tmp_path / "d", ogb(tmp_path / "many", "3\n4"))
    folder = ogb(tmp_path / "kg")
    (folder / "raw/edge_reltype.csv.gz").write_bytes(b"")
    with pytest.raises(UserError, match="an OGB knowledge graph"):
        make(tmp_path / "d", folder)
    with pytest.raises(UserError, match="is a folder"):
        make(tmp_path / "d", tmp_path)


def graphbolt(folder, format="numpy", nodes="[{num: 60}]", types=1):
    (folder / "edges").mkdir(parents=True)
    path = {"numpy": "edges/all.npy", "csv": "edges/all.csv"}[format]
    np.save(folder / "edges/all.npy", np.stack([SRC, DST]))
    np.savetxt(folder / "edges/all.csv", np.stack([SRC, DST], 1), "%d,%d")
    entry = f"{{format: {format}, path: {path}}}"
    (folder / "metadata.yaml").write_text(f"dataset_name: a\ngraph:\n  nodes: {nodes}\n  edges: [{', '.join([entry] * types)}]\n")
    return folder


@pytest.mark.parametrize("format", ["numpy", "csv"])
def test_graphbolt_folder(tmp_path, format):
    dataset = make(tmp_path / "d", graphbolt(tmp_path / "g", format), memory="1MiB")
    assert sorted(decoded(dataset).elements()) == pairs()
    assert dataset.manifest.nodes == 60


def test_graphbolt_folders_that_are_not_read(tmp_path):
    with pytest.raises(UserError, match=r"metadata\.yaml: 1 types of nodes, 2 of edges"):
        make(tmp_path / "d", graphbolt(tmp_path / "types", types=2))
    with pytest.raises(UserError, match=r"metadata\.yaml: num: 'many': must be the number of nodes"):
        make(tmp_path / "d", graphbolt(tmp_path / "many", nodes="[{num: many}]"))
    few = graphbolt(tmp_path / "few")
    np.save(few / "edges/all.npy", np.array([[0, 1], [2, 3]]))
    assert decoded(make(tmp_path / "turned", few)) == {(0, "", 2): 1, (1, "", 3): 1}
    with pytest.raises(UserError, match="is a folder"):
        make(tmp_path / "d", graphbolt(tmp_path / "none", nodes="[]"))
    folder = graphbolt(tmp_path / "yaml")
    (folder / "metadata.yaml").write_text("{")
    assert make(tmp_path / "d", folder / "edges/all.csv").manifest.nodes == 50


def marius(folder, dtype=np.int32, columns=(0, 1, 2), **facts):
    (folder / "edges").mkdir(parents=True)
    parts = {"train": EDGES[:2000], "validation": EDGES[2000:2400], "test": EDGES[2400:]}
    for name, rows in parts.items():
        np.ascontiguousarray(rows[:, columns].astype(dtype)).tofile(folder / f"edges/{name}_edges.bin")
    known = {"num_nodes": 60, "num_relations": 50, "num_train": 2000, "num_valid": 400, "num_test": 600, **facts}
    (folder / "dataset.yaml").write_text("".join(f"{key}: {value}\n" for key, value in known.items()))
    return folder


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("columns", [(0, 1, 2), (0, 2)])
def test_marius_folder(tmp_path, dtype, columns):
    dataset = make(tmp_path / "d", marius(tmp_path / "m", dtype, columns), memory="1MiB")
    assert dataset.manifest.edges == {"train": 2000, "valid": 400, "test": 600}
    assert dataset.manifest.nodes == 60
    for name, rows in {"train": EDGES[:2000], "valid": EDGES[2000:2400], "test": EDGES[2400:]}.items():
        expected = [tuple(row) for row in rows.tolist()] if len(columns) == 3 else pairs(rows)
        assert sorted(decoded(dataset, name).elements()) == sorted(expected)


def test_marius_folders_that_do_not_agree(tmp_path):
    with pytest.raises(UserError, match=r"train_edges\.bin: 24000 bytes, which are no 2001 edges"):
        make(tmp_path / "d", marius(tmp_path / "a", num_train=2001))
    with pytest.raises(UserError, match=r"dataset\.yaml: num_nodes: 'many'"):
        make(tmp_path / "d", marius(tmp_path / "b", num_nodes="many"))
    folder = marius(tmp_path / "c")
    with pytest.raises(UserError, match="its own splits: leave out --split"):
        make(tmp_path / "d", folder, split="0.8,0.1,0.1")
    with pytest.raises(UserError, match="its own splits: leave out --valid"):
        make(tmp_path / "d", folder, valid=folder / "edges/test_edges.bin")
    assert make(tmp_path / "d", folder / "edges/train_edges.bin", split="0.8,0.1,0.1").manifest.nodes == 60
    assert not (tmp_path / ".d.tmp").exists()
