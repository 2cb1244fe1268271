"""Damage of a dataset that its checksums do not show: each case does it in a folder, and says what verification finds."""

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite._native import crc32c
from marius_lite.graph import Dataset
from marius_lite.graph.edges import COLUMNS
from marius_lite.graph.features import FEATURES
from marius_lite.graph.ids import hash_raw_ids, order_key
from marius_lite.graph.manifest import Manifest
from marius_lite.storage.checksum import file_checksum

NODES, PARTITIONS = 90, 3
TRAIN = "edges/train"
LISTS = "adjacency/in"


def mended(folder, **fields):
    """The folder with all checksums and sizes as its files are now, and ``fields`` in the manifest."""
    manifest = Manifest.model_validate(json.loads((folder / "zarr.json").read_bytes())["attributes"]["marius_lite"])
    dataset = Dataset(folder, manifest)
    for split in manifest.edges:
        columns = [np.fromfile(folder / f"edges/{split}/{name}/c/0", np.uint32) for name in COLUMNS]
        offsets = entries(folder, f"edges/{split}/bucket_offsets")
        store_sums(folder / f"edges/{split}/bucket_checksums", columns, [offsets] * 3)
    if dataset.adjacency is not None:
        starts, bounds = entries(folder, f"{LISTS}/starts"), range(0, NODES + PARTITIONS + 1, NODES // PARTITIONS + 1)
        arrays = [
            np.fromfile(folder / LISTS / name / "c/0", dtype)
            for name, dtype in (("indptr", np.int64), ("sources", np.uint32), ("rel", np.uint32))
            if (folder / LISTS / name).exists()
        ]
        store_sums(folder / LISTS / "checksums", arrays, [bounds, starts, starts])
    files = {
        name: ((folder / name).stat().st_size, file_checksum(folder / name, (folder / name).stat().st_size))
        for name in manifest.files
        if (folder / name).exists()
    }
    manifest = manifest.model_copy(update={"files": files, **fields}).sealed()
    (folder / "zarr.json").write_bytes(manifest.root_json())
    return Dataset.open(folder)


def store_sums(path, arrays, bounds):
    sums = np.zeros((len(bounds[0]) - 1, 3), np.uint32)
    for column, (values, ends) in enumerate(zip(arrays, bounds)):
        sums[:, column] = [crc32c(values[low : max(low, high)].view(np.uint8)) for low, high in pairwise(ends)]
    sums.tofile(path / "c/0/0")


def entries(folder, name):
    length = json.loads((folder / name / "zarr.json").read_text())["shape"][0]
    return np.fromfile(folder / name / "c/0", np.int64)[:length]


def put(name, place, value, dtype=np.uint32):
    """Damage: one entry of an array's first chunk; ``value`` may be a function of the old one."""

    def damage(folder):
        values = np.fromfile(folder / name, dtype)
        values[place] = value(values[place]) if callable(value) else value
        values.tofile(folder / name)

    return damage


def swap(name, first, second, dtype=np.uint32):
    def damage(folder):
        values = np.fromfile(folder / name, dtype)
        assert values[first] != values[second]
        values[[first, second]] = values[[second, first]]
        values.tofile(folder / name)

    return damage


def table(name, change):
    """Damage: ``change`` (columns as lists) of a Parquet file."""

    def damage(folder):
        old = pq.read_table(folder / name)
        columns = old.to_pydict()
        groups = change(columns) or NODES // PARTITIONS
        pq.write_table(pa.table(columns, schema=old.schema), folder / name, row_group_size=groups, store_schema="type" in columns)

    return damage


def described(name, **fields):
    """Damage: fields of an array's metadata."""

    def damage(folder):
        found = json.loads((folder / name / "zarr.json").read_text())
        (folder / name / "zarr.json").write_text(json.dumps({**found, **fields}))

    return damage


def both(column, value):
    """Damage: the same entry of two rows of nodes.parquet."""
    return table("nodes.parquet", lambda columns: columns[column].__setitem__(7, value(columns[column])))


def other_edge(folder):
    """A training edge has another source in the lists: order and numbers are as before."""
    indptr, sources = (
        np.fromfile(folder / LISTS / name / "c/0", dtype) for name, dtype in (("indptr", np.int64), ("sources", np.uint32))
    )
    last = int(indptr[NODES // PARTITIONS]) - 1
    sources[last] = sources[last] - 1 if sources[last] > sources[last - 1] else sources[last] + 1
    sources.tofile(folder / LISTS / "sources/c/0")


def other_owner(folder):
    """An edge of the first node is the second's: all sources are as before."""
    names = [(name, np.int64 if name == "indptr" else np.uint32) for name in ("indptr", "sources", "rel")]
    indptr, sources, rel = (np.fromfile(folder / LISTS / name / "c/0", dtype) for name, dtype in names)
    owners = np.repeat([0, 1], np.diff(indptr[:3]))
    owners[0] = 1
    order = np.lexsort((sources[: indptr[2]], owners))
    sources[: indptr[2]], rel[: indptr[2]] = sources[order], rel[order]
    indptr[1] -= 1
    for (name, _), values in zip(names, (indptr, sources, rel)):
        values.tofile(folder / LISTS / name / "c/0")


def twice_in_order(folder):
    """A training node has the raw id of another node, and the hashes ascend as they should."""
    dataset = Dataset.open(folder)
    training, raw = dataset.node_counts["train"], dataset.raw_ids(0, NODES)
    hashes = hash_raw_ids(raw, order_key(dataset.manifest.seed))
    node, other = next(
        (node, other)
        for node in range(1, training - 1)
        for other in range(training, NODES)
        if hashes[node - 1] < hashes[other] < hashes[node + 1]
    )
    table("nodes.parquet", lambda columns: columns["raw_id"].__setitem__(node, raw[other].as_py()))(folder)


CASES = {
    "src outside": ("edges", put(f"{TRAIN}/src/c/0", 5, 30), r"train/src: edge 5 of bucket \(0, 0\) has src 30, there are 30:"),
    "dst outside": ("edges", put(f"{TRAIN}/dst/c/0", 4, 77), r"train/dst: edge 4 of bucket \(0, 0\) has dst 77, there are 30:"),
    "rel outside": ("edges", put("edges/test/rel/c/0", 0, 4), r"test/rel: edge 0 of bucket \(0, 0\) has rel 4, there are 4:"),
    "dst order": ("edges", put(f"{TRAIN}/dst/c/0", 9, 29), r"edges/train: edge 10 of bucket \(0, 0\) is out of order"),
    "src order": ("edges", put(f"{TRAIN}/src/c/0", 0, 29), r"edges/train: edge 1 of bucket \(0, 0\) is out of order"),
    "offsets fall": ("edges", put(f"{TRAIN}/bucket_offsets/c/0", 4, 1, np.int64), r"bucket_offsets: bucket \(1, 0\) ends before"),
    "offsets begin": (
        "edges",
        put(f"{TRAIN}/bucket_offsets/c/0", 0, 1, np.int64),
        r"bucket_offsets: the first bucket begins at 1",
    ),
    "another bucket": (
        "edges",
        put(f"{TRAIN}/bucket_offsets/c/0", 1, lambda end: end + 1, np.int64),
        r"train: edge \d+ of bucket \(0, 0\) is out of order",
    ),
    "length": ("edges", described(f"{TRAIN}/rel", shape=[10]), r"train/rel: 10 entries of uint32, [\d,]+ of uint32 belong there"),
    "type": ("edges", described(f"{TRAIN}/src", data_type="float32"), r"train/src: [\d,]+ entries of float32"),
    "no array": ("edges", described(f"{TRAIN}/src", shape="far"), r"train/src/zarr.json: describes no array"),
    "chunks": (
        "edges",
        described(f"{TRAIN}/dst", chunk_grid={"configuration": {"chunk_shape": [9]}}),
        r"dst/c/0: [\d,]+ bytes, 36 belong there",
    ),
    "out-degree": ("edges", put("counts/out/c/1", 3, lambda found: found + 1), r"counts/out: node 33 has \d+, by its edges \d+"),
    "in-degree": ("edges", put("counts/in/c/2", 29, lambda found: found - 1), r"counts/in: node 89 has \d+, by its edges \d+"),
    "splits": ("edges", put("counts/splits/c/0", 7, 0, np.uint8), r"counts/splits: node 7 has 0, by its edges \d"),
    "relations by split": (
        "edges",
        swap("counts/relations/c/0/0", 0, 4, np.int64),
        r"counts/relations: relation 0 has other edges there than in edges/",
    ),
    "relation counts": (
        "edges",
        table("relations.parquet", lambda c: c["count"].__setitem__(2, 7)),
        r"relations.parquet: relation 2 has 7 edges there, \d+ in edges/",
    ),
    "relation ids": ("edges", table("relations.parquet", lambda c: c["relation_id"].reverse()), "row 0 has relation_id 3"),
    "relation twice": ("edges", table("relations.parquet", lambda c: c["raw_id"].__setitem__(2, "r1")), "stands twice"),
    "node ids": ("edges", both("node_id", lambda _: 80), "nodes.parquet: row 7 has node_id 80"),
    "node order": ("edges", both("raw_id", lambda ids: "n999"), r"nodes.parquet: node \d, 'n\d+', is out of order"),
    "node twice": ("edges", both("raw_id", lambda ids: ids[6]), "nodes.parquet: node 7 has the raw_id of the node before, 'n"),
    "no raw id": ("edges", both("raw_id", lambda _: None), "nodes.parquet: node 7 has no raw_id"),
    "too few nodes": ("edges", table("nodes.parquet", lambda c: [column.pop() for column in c.values()] and 30), "89 rows, the"),
    "row groups": ("edges", table("nodes.parquet", lambda c: 40), "row group 0, nodes 0 to 39, is of several partitions"),
    "no parquet": (
        "edges",
        lambda folder: (folder / "nodes.parquet").write_bytes(b"PAR1 not"),
        "nodes.parquet: is no Parquet file",
    ),
    "twice in splits": ("float32", twice_in_order, r"nodes.parquet: node \d+ has the raw_id of node \d+, \d+:"),
    "twice by locality": (
        "locality",
        both("raw_id", lambda ids: ids[80]),
        r"nodes.parquet: node 80 has the raw_id of node 7, \d+",
    ),
    "type of another name": (
        "types",
        both("type", lambda _: "d"),
        "nodes.parquet: node 7 is of type 'd', which the manifest has not",
    ),
    "no type": ("types", both("type", lambda _: None), "nodes.parquet: node 7 is of type None, which the manifest has not"),
    "lists: source": ("edges", other_edge, f"{LISTS}: the lists of partition 0 are not those of its training"),
    "lists: owner": ("edges", other_owner, f"{LISTS}: the lists of partition 0 are not those of its training"),
    "lists: relation": (
        "edges",
        put(f"{LISTS}/rel/c/0", -1, lambda rel: (rel + 1) % 4),
        "the lists of partition 2 are not those",
    ),
    "lists: order": ("edges", put(f"{LISTS}/sources/c/0", 0, NODES - 1), "sources: the list of node 0 is not in ascending order"),
    "lists: no node": (
        "edges",
        put(f"{LISTS}/sources/c/0", 3, NODES),
        "sources: the list of node 0 has source 90, there are 90 nodes",
    ),
    "lists: bounds": ("edges", put(f"{LISTS}/indptr/c/0", 33, 5000, np.int64), "indptr: the list of node 31 is not inside the"),
    "lists: begin": ("edges", put(f"{LISTS}/indptr/c/0", 31, 1, np.int64), "indptr: the list of node 30 is not inside the"),
    "lists: end": (
        "edges",
        put(f"{LISTS}/indptr/c/0", 30, lambda end: end - 1, np.int64),
        "indptr: the list of node 29 is not inside",
    ),
    "lists: starts": (
        "edges",
        put(f"{LISTS}/starts/c/0", 1, lambda start: start + 1, np.int64),
        "starts: the lists of partition 1 begin",
    ),
    "nan": ("float32", put(FEATURES / "c/1/0", 8 * 3 + 4, np.nan, np.float32), "features: a feature of node 33 is not finite"),
    "infinity": ("bfloat16", put(FEATURES / "c/2/0", 8 * 2, 0x7F80, np.uint16), "features: a feature of node 62 is not finite"),
    "filling": ("float32", put(FEATURES / "c/0/0", 8 + 5, 1, np.float32), "the row of node 1 is not filled up with 0"),
    "width": (
        "float32",
        described(FEATURES, attributes={"values": [0, 4]}),
        "features: nodes, rows of a chunk, type and columns are",
    ),
    "scales": ("int8", described(FEATURES, attributes={"values": [0, 5], "scales": [1, 1, 1, 0, 1]}), "the scales of 5 columns"),
    "label": ("float32", put("tables/labels/c/2", 4, 6, np.int64), "labels: node 64 has a label outside 6 classes"),
    "code": ("float32", put("tables/split/c/2", 4, 4, np.uint8), "split: node 64 has a code above 3"),
    "training node": (
        "float32",
        put("tables/split/c/2", 4, 1, np.uint8),
        r"split: node 64 is out of place: the \d+ training nodes",
    ),
    "split counts": (
        "float32",
        put("tables/split/c/2", 4, 0, np.uint8),
        r"split: \d+ nodes for (valid|test), the manifest says \d+",
    ),
    "label missing": ("float32", put("tables/labels/c/0", 0, -1, np.int64), "split: node 0 is of a split and has no label"),
    "label chunks": (
        "float32",
        described("tables/labels", chunk_grid={"configuration": {"chunk_shape": [45]}}),
        "labels: chunks of 45 entries, 30 make a partition",
    ),
    "several: value": (
        "several",
        put("tables/labels/c/1/0", 16 * 3 + 4, 2, np.int8),
        "labels: the label of node 33 is not 0 or 1 for each class, nor -1 for all",
    ),
    "several: none in part": (
        "several",
        put("tables/labels/c/2/0", 16 * 3 + 4, -1, np.int8),
        "labels: the label of node 63 is not",
    ),
    "several: missing": (
        "several",
        put("tables/labels/c/0/0", slice(0, 5), -1, np.int8),
        "split: node 0 is of a split and has no label",
    ),
    "several: filling": ("several", put("tables/labels/c/0/0", 16 + 5, 1, np.int8), "the row of node 1 is not filled up with 0"),
    "several: width": (
        "several",
        described("tables/labels", attributes={"values": [0, 4]}),
        "labels: nodes, rows of a chunk, type and columns are",
    ),
}
