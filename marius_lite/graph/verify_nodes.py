"""Check nodes and relations for `info --verify`: raw ids, types, features, labels, splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from marius_lite.config.sizes import padded_width
from marius_lite.errors import UserError
from marius_lite.files import ABSENT, disk_error
from marius_lite.graph.damage import Progress, check_array, check_chunk, damaged, first
from marius_lite.graph.folder import DatasetFolder
from marius_lite.graph.ids import hash_raw_ids, node_schema, order_key, relation_schema
from marius_lite.graph.manifest import Manifest
from marius_lite.graph.node_columns import LABELS, MULTI_LABEL, NODE_SPLITS, SPLIT
from marius_lite.graph.node_types import in_order, places_of
from marius_lite.graph.partitioning import Partitioning
from marius_lite.graph.verify_multi_labels import labelled, open_multi_labels
from marius_lite.storage.flat import read_array_range
from marius_lite.types import Ids

NODES_AT_ONCE = 1 << 16
HASHES_AT_ONCE = 8 << 20  # of raw ids, which are sorted together
BYTES_AT_ONCE = 4 << 20  # of rows of features or labels
BFLOAT16_EXPONENT = np.uint16(0x7F80)
Hashes = npt.NDArray[np.uint64]


def verify_nodes(dataset: DatasetFolder, progress: Progress) -> None:
    """Check the files of names: node ids count up, row groups are inside partitions, raw ids are in order and all different."""
    paths, manifest, known = dataset.name_files, dataset.manifest, 0
    for path, nodes in zip(paths, [each.nodes for each in manifest.names or ()] or [manifest.nodes]):
        _check_table(path, node_schema(manifest.ids, manifest.node_types is not None), nodes - known)
        _check_groups(dataset, path, known)
        known = nodes
    path = paths[0]
    types = _TypeCheck(path, manifest.node_types or ())
    ids_by_order = "partitioner" not in manifest.options and not manifest.lineage
    boundary = manifest.first_nodes  # these training nodes come first, and are ordered for themselves
    key, last = order_key(manifest.seed), None
    size = sum(dataset.size(each.relative_to(dataset.path).as_posix()) for each in paths)
    for path, low, batch in _batches(paths):
        progress(size * (low + len(batch)) // manifest.nodes - size * low // manifest.nodes)
        ids: npt.NDArray[np.int64] = batch.column(0).to_numpy(zero_copy_only=False)
        if (wrong := first(ids != np.arange(low, low + len(ids)))) is not None:
            raise damaged(path, f"row {low + wrong:,} has node_id {ids[wrong]:,}")
        raw = batch.column(1)
        if raw.null_count:
            missing = first(raw.is_null().to_numpy(zero_copy_only=False)) or 0
            raise damaged(path, f"node {low + missing:,} has no raw_id")
        if ids_by_order:
            last = _check_order(path, low, raw, key, last, boundary)
        if manifest.node_types is not None:
            types.take(low, batch.column(2))
    types.finish()
    if boundary or not ids_by_order:
        _check_different(paths, manifest.nodes, key)


class _TypeCheck:
    """Checks that every node has a type that the manifest names, and that each of these types has a node."""

    def __init__(self, path: Path, names: Sequence[str]):
        self._path, self._names = path, pa.array(names, pa.string())
        self._found = np.zeros(len(names), bool)
        if len(set(names)) < len(names):
            raise damaged(path.parent / "zarr.json", "a type stands twice in node_types")
        if list(names) != in_order(names):
            raise damaged(path.parent / "zarr.json", "node_types are not in order")

    def take(self, low: int, column: pa.DictionaryArray) -> None:
        """Check the types of some nodes. ``low``: the id of the first of them."""
        places = places_of(column, self._names)
        if (wrong := first(places < 0)) is not None:
            raise damaged(self._path, f"node {low + wrong:,} is of type {column[wrong].as_py()!r}, which the manifest has not")
        self._found[places] = True

    def finish(self) -> None:
        """Raise UserError for a type that no node has."""
        if (wrong := first(~self._found)) is not None:
            raise damaged(self._path, f"no node is of type {self._names[wrong].as_py()!r}, which the manifest has")


def _check_table(path: Path, schema: pa.Schema, rows: int) -> None:
    """Check the columns and the number of rows of a Parquet file."""
    try:
        with _failing(path), pq.ParquetFile(path) as file:
            found, count = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, f"is no Parquet file: {error}") from error
    if not found.equals(schema):
        raise damaged(path, f"columns {', '.join(map(str, found))}, it should have {', '.join(map(str, schema))}")
    if count != rows:
        raise damaged(path, f"{count:,} rows, the manifest says {rows:,}")


@contextmanager
def _failing(path: Path) -> Iterator[None]:
    """Raise RunError for a disk that fails, which is no damage. Arrow's error then has a number, which it lacks for damage."""
    try:
        yield
    except OSError as error:
        if error.errno is None or isinstance(error, ABSENT):
            raise
        raise disk_error(error, path) from error


def _check_groups(dataset: DatasetFolder, path: Path, begin: int) -> None:
    """Check that every row group of a file, whose first node is ``begin``, is inside one partition."""
    with _failing(path), pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            end = begin + file.metadata.row_group(group).num_rows
            if end > begin and begin // dataset.partitioning.rows != (end - 1) // dataset.partitioning.rows:
                raise damaged(path, f"row group {group}, nodes {begin:,} to {end - 1:,}, is of several partitions")
            begin = end


def _batches(paths: Sequence[Path]) -> Iterator[tuple[Path, int, pa.RecordBatch]]:
    """Read Parquet files, some rows at a time, however large row groups are. Yields (file, how many rows come before, rows)."""
    low = 0
    for path in paths:
        try:
            with _failing(path), pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(NODES_AT_ONCE):
                    yield path, low, batch
                    low += len(batch)
        except (pa.ArrowException, OSError) as error:
            raise damaged(path, f"cannot be read after row {low:,}: {error}") from error


def _check_order(path: Path, low: int, raw: pa.Array, key: int, last: tuple[int, Any] | None, boundary: int) -> tuple[int, Any]:
    """Check that raw ids ascend by (hash, raw id). At ``boundary``, where training nodes end, the order begins anew.

    ``last``: hash and raw id of the node before these. Returns those of the last of them.
    """
    hashes = hash_raw_ids(raw, key)
    before = np.concatenate([[np.uint64(0) if last is None else np.uint64(last[0])], hashes[:-1]])
    inside = np.arange(low, low + len(raw)) != boundary
    inside[0] &= last is not None
    for place in np.flatnonzero(inside & (before >= hashes)).tolist():
        found = raw[place].as_py()
        previous = raw[place - 1].as_py() if place or last is None else last[1]
        if found == previous:
            raise damaged(path, f"node {low + place:,} has the raw_id of the node before, {found!r}")
        if before[place] > hashes[place] or found < previous:
            raise damaged(path, f"node {low + place:,}, {found!r}, is out of order: raw ids go by their hash")
    return int(hashes[-1]), raw[-1].as_py()


def _check_different(paths: Sequence[Path], nodes: int, key: int) -> None:
    """Check that raw ids in any order are different. Equal ones have equal hashes, so hashes are sorted, one range at a time."""
    stretches = -(-nodes // HASHES_AT_ONCE)
    equal: list[Hashes] = []
    for stretch in range(stretches):
        least, most = 2**64 * stretch // stretches, 2**64 * (stretch + 1) // stretches - 1
        parts = []
        for _, _, batch in _batches(paths):
            hashes = hash_raw_ids(batch.column(1), key)
            parts.append(hashes[(hashes >= np.uint64(least)) & (hashes <= np.uint64(most))])
        together = np.concatenate(parts)
        together.sort()
        equal.append(together[1:][together[1:] == together[:-1]])
    suspects, node_of = np.unique(np.concatenate(equal)), dict[Any, int]()
    if not len(suspects):
        return
    for path, low, batch in _batches(paths):
        for place in np.flatnonzero(np.isin(hash_raw_ids(batch.column(1), key), suspects)).tolist():
            found = batch.column(1)[place].as_py()
            if found in node_of:
                raise damaged(path, f"node {low + place:,} has the raw_id of node {node_of[found]:,}, {found!r}")
            node_of[found] = low + place


def verify_relations(dataset: DatasetFolder) -> npt.NDArray[np.int64]:
    """Check ``relations.parquet``. Returns the edges that it counts of each relation."""
    path, manifest = dataset.path / "relations.parquet", dataset.manifest
    _check_table(path, relation_schema(manifest.relation_ids), manifest.relations)
    with _failing(path):
        table = pq.read_table(path)
    ids: npt.NDArray[np.int64] = table["relation_id"].to_numpy()
    if (wrong := first(ids != np.arange(len(ids)))) is not None:
        raise damaged(path, f"row {wrong:,} has relation_id {ids[wrong]}")
    if table["raw_id"].null_count or len(table["raw_id"].unique()) < len(table):
        raise damaged(path, "a raw_id is missing or stands twice")
    counts: npt.NDArray[np.int64] = table["count"].to_numpy()
    return counts


def node_table_bytes(dataset: DatasetFolder) -> int:
    """Return the bytes of a node in ``tables/``. Features count where their table can be read."""
    manifest, features = dataset.manifest, 0
    if manifest.features is not None:
        with suppress(UserError, KeyError, ValueError):  # the check of the features will report it
            features = dataset.features.stride if dataset.features else 0
    return features + _label_bytes(manifest) + (manifest.node_split is not None)


def _label_bytes(manifest: Manifest) -> int:
    """Return the bytes of a node's label."""
    if manifest.labels is None or not manifest.multi_label:
        return 8 * (manifest.labels is not None)
    return padded_width(manifest.labels.classes, MULTI_LABEL) * MULTI_LABEL.itemsize


def verify_node_tables(dataset: DatasetFolder, progress: Progress) -> None:
    """Check ``tables/``: features, labels and splits."""
    if dataset.manifest.features is not None:
        _verify_features(dataset, progress)
    if dataset.manifest.labels is not None or dataset.manifest.node_split is not None:
        _verify_labels(dataset, progress)


def _verify_features(dataset: DatasetFolder, progress: Progress) -> None:
    """Check that features have the manifest's shape and type, are finite, and are padded with zeros."""
    try:
        features = dataset.features
    except (KeyError, ValueError) as error:
        raise damaged(dataset.path / "tables/features", f"describes no table of features: {error!r}") from error
    assert features is not None
    table, partitioning = features.table, dataset.partitioning
    found = (table.nodes, table.rows_per_partition, table.dtype, table.attributes.get("values"))
    wanted = (partitioning.nodes, partitioning.rows, features.dtype, [0, features.width])
    if found != wanted or table.width < features.width:
        raise damaged(table.path, f"nodes, rows of a chunk, type and columns are {found}, by the manifest {wanted}")
    if features.scales is not None and not (len(features.scales) == features.width and (features.scales > 0).all()):
        raise damaged(table.path, f"the scales of {features.width} columns are not all there and above 0")
    step = max(1, BYTES_AT_ONCE // table.stride)
    for k in range(partitioning.partitions):
        check_chunk(dataset, table.chunks, k)
        for low in range(0, partitioning.size(k), step):
            rows = table.read_block(k, low, min(low + step, partitioning.size(k)))
            progress(rows.nbytes)
            nodes = partitioning.range(k)[low:]
            if (row := first(_not_finite(rows[:, : features.width], features.type))) is not None:
                raise damaged(table.path, f"a feature of node {nodes[row]:,} is not finite")
            if (row := first(rows[:, features.width :] != 0)) is not None:
                raise damaged(table.path, f"the row of node {nodes[row]:,} is not filled up with 0")


def _not_finite(rows: npt.NDArray[Any], type: str) -> npt.NDArray[np.bool_]:
    if type == "bfloat16":
        return np.asarray((rows & BFLOAT16_EXPONENT) == BFLOAT16_EXPONENT)
    return ~np.isfinite(rows) if rows.dtype.kind == "f" else np.zeros(rows.shape, bool)


def _verify_labels(dataset: DatasetFolder, progress: Progress) -> None:
    """Check that labels are classes that exist, and that splits are as large as the manifest says, with training nodes first,
    where they are to be, and a label for each node."""
    manifest, partitioning = dataset.manifest, dataset.partitioning
    classes = manifest.labels.classes if manifest.labels else 0
    split = manifest.node_split or {}
    if manifest.class_names is not None and len(manifest.class_names) != classes:
        raise damaged(dataset.path / "zarr.json", f"{len(manifest.class_names)} class_names for {classes} classes")
    several = open_multi_labels(dataset) if manifest.multi_label else None
    for there, place, dtype in ((manifest.labels and not several, LABELS, np.int64), (manifest.node_split, SPLIT, np.uint8)):
        if there:
            check_array(dataset, dataset.path / place, partitioning.nodes, dtype, partitioning.rows)
    training, first_only = split.get("train", 0), manifest.training == "first"
    counts = np.zeros(1 + len(NODE_SPLITS), np.int64)
    for ids in _batches_of_nodes(partitioning, max(1, BYTES_AT_ONCE // several.table.stride) if several else NODES_AT_ONCE):
        if several:
            labels = labelled(several, ids, partitioning)
        else:
            labels = _column(dataset, LABELS, ids) if manifest.labels else np.zeros(len(ids), np.int64)
        codes = _column(dataset, SPLIT, ids) if split else np.zeros(len(ids), np.uint8)
        progress(len(ids) * (_label_bytes(manifest) + bool(split)))
        for place, wrong, what in (
            (LABELS, (labels < -1) | (labels >= max(1, classes)), f"has a label outside {classes} classes"),
            (SPLIT, codes > len(NODE_SPLITS), f"has a code above {len(NODE_SPLITS)}"),
            (SPLIT, (codes > 0) & (labels < 0), "is of a split and has no label"),
            (
                SPLIT,
                first_only & ((codes == 1) != (ids < training)),
                f"is out of place: the {training:,} training nodes come first",
            ),
        ):
            if (row := first(wrong)) is not None:
                raise damaged(dataset.path / place, f"node {ids[row]:,} {what}")
        counts += np.bincount(codes, minlength=len(counts))
    for name, count in zip(NODE_SPLITS, counts[1:].tolist()):
        if count != split.get(name, 0):
            raise damaged(dataset.path / SPLIT, f"{count:,} nodes for {name}, the manifest says {split.get(name, 0):,}")


def _batches_of_nodes(partitioning: Partitioning, most: int) -> Iterator[Ids]:
    """Yield all node ids in order, at most ``most`` at a time. Each array has nodes of one partition."""
    for k in range(partitioning.partitions):
        span = partitioning.range(k)
        for low in range(span.start, span.stop, most):
            yield np.arange(low, min(low + most, span.stop))


def _column(dataset: DatasetFolder, place: Path, ids: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    return read_array_range(dataset.path / place, int(ids[0]), int(ids[-1]) + 1)
