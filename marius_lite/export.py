"""Export: trained node and relation vectors with raw ids, as Parquet or NumPy files, by partition."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import marius_lite
from marius_lite import files
from marius_lite.errors import UserError
from marius_lite.evaluate.pages import Buffer, Pages
from marius_lite.graph.dataset import Dataset

BLOCK_BYTES = 64 << 20
ID_BYTES = 64
"""Guess of what a raw id takes in a file."""

Values = npt.NDArray[np.float32]
Blocks = Iterator[tuple[pa.Array, Values]]


def export_run(run: Path | str, output: Path | str, format: str = "parquet",
               checkpoint: str | None = None) -> dict[str, Any]:
    """Write a checkpoint's vectors into the new folder ``output``; a summary of what was written."""
    from marius_lite.train.opened import open_checkpoint, open_classifier, open_links
    from marius_lite.train.vectors import InputRows, vector_rows

    found = open_checkpoint(Path(run), checkpoint)
    labels = found.dataset.labels
    if found.config.task == "node_classification" and labels is not None:
        model = open_classifier(found)
        inputs = InputRows(found.dataset, found.config, found.table)
        with vector_rows(found.dataset, found.config, model.encoder, inputs, found.memory.slots, found.run.path) as scores:
            return export(scores, found.dataset, labels.classes, np.empty((0, 0), np.float32), Path(output), format,
                          {"checkpoint": found.path.name, "encoder": found.config.model.encoder})
    with closing(open_links(found)) as opened:
        settings = opened.config.model
        relations = opened.model.relations.detach().cpu().numpy()
        return export(opened.buffer, opened.dataset, settings.dim, relations, Path(output), format,
                      {"checkpoint": opened.checkpoint.name, "decoder": settings.decoder})


def export(buffer: Buffer, dataset: Dataset, dim: int, relations: Values, output: Path, format: str,
           facts: dict[str, Any] | None = None) -> dict[str, Any]:
    """Write the folder ``output``: nodes and relations (row i belongs to id i of ``ids``) and export.json.

    parquet: nodes.parquet and relations.parquet with columns raw_id and vector. npy: nodes.npy (N, dim) and
    relations.npy, float32, their raw ids in *_ids.npy (integers) or *_ids.txt (one a line). zarr: arrays nodes and relations
    in a group, their ids as with npy. ``relations``:
    (relations or twice as many, relation_dim); the second half, the reciprocal ones, gets files of its own,
    reciprocal_relations. Only values are written, no optimizer state. Raises UserError for an existing
    ``output`` or an unknown format.
    """
    if format not in WRITERS:
        raise UserError(f"--format {format}: unknown: use one of {', '.join(WRITERS)}")
    if output.exists():
        raise UserError(f"{output}: exists already: choose another --output or remove it")
    files.require_space(output, dataset.manifest.nodes * (dim * 4 + ID_BYTES), "the export")
    beside = output.with_name(f".{output.name}.tmp")
    files.remove_tree(beside)
    manifest = dataset.manifest
    summary = {"format": format, "nodes": manifest.nodes, "relations": manifest.relations, "dim": dim,
               "dataset": dataset.fingerprint, "program_version": marius_lite.__version__, **(facts or {})}
    try:
        beside.mkdir(parents=True)
        write = WRITERS[format]
        write(beside, "nodes", node_blocks(buffer, dataset, dim), manifest.nodes, dim)
        for name, rows in relation_tables(relations, manifest.relations):
            ids = pa.array(dataset.relation_names())
            write(beside, name, iter([(ids, rows)]), len(rows), rows.shape[1])
        (beside / "export.json").write_text(json.dumps(summary, indent=1) + "\n")
        files.sync_tree(beside)
        files.publish(beside, output)
    except OSError as error:
        raise files.disk_error(error, output) from error
    finally:
        files.remove_tree(beside)
    return {"output": str(output), **summary}


def node_blocks(buffer: Buffer, dataset: Dataset, dim: int) -> Blocks:
    """(raw ids, values (m, dim)) of all nodes in order of node id, in blocks of at most BLOCK_BYTES."""
    pages = Pages(buffer, dataset.partitioning, dim)
    rows = max(1, BLOCK_BYTES // (dim * 4))
    for k, values in pages.each(range(dataset.partitioning.partitions)):
        span = dataset.partitioning.range(k)
        ids = dataset.raw_ids(span.start, span.stop)
        for start in range(0, len(values), rows):
            yield ids[start:start + rows], np.ascontiguousarray(values[start:start + rows])


def relation_tables(relations: Values, count: int) -> Iterator[tuple[str, Values]]:
    """(file name, rows) of the relations and of the reciprocal ones; nothing where a decoder has none."""
    if relations.size:
        yield "relations", relations[:count]
        if len(relations) > count:
            yield "reciprocal_relations", relations[count:]


def write_parquet(folder: Path, name: str, blocks: Blocks, rows: int, dim: int) -> None:
    """One row group per block."""
    writer = None
    try:
        for ids, values in blocks:
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), dim)
            table = pa.table({"raw_id": ids, "vector": vectors})
            # Vectors look random to a compressor: it only costs time.
            writer = writer or pq.ParquetWriter(folder / f"{name}.parquet", table.schema, compression="none",
                                                use_dictionary=False)
            writer.write_table(table, row_group_size=len(ids))
    finally:
        if writer:
            writer.close()


def write_npy(folder: Path, name: str, blocks: Blocks, rows: int, dim: int) -> None:
    """Rows behind a NumPy header; ids beside."""
    with open(folder / f"{name}.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, _header((rows, dim), np.float32))
        ids_file = None
        try:
            for ids, values in blocks:
                ids_file = ids_file or _ids_file(folder, name, ids.type, rows)
                values.tofile(file)
                _write_ids(ids_file, ids)
        finally:
            if ids_file:
                ids_file.close()


def write_zarr(folder: Path, name: str, blocks: Blocks, rows: int, dim: int) -> None:
    """An uncompressed array (rows, dim) in the group ``folder``; ids beside."""
    import zarr

    group = zarr.open_group(folder, mode="a")
    chunk = max(1, BLOCK_BYTES // (dim * 4))
    array = group.create_array(name, shape=(rows, dim), chunks=(min(chunk, rows), dim), dtype="float32", compressors=None,
                               filters=None)
    start, ids_file = 0, None
    try:
        for ids, values in blocks:
            ids_file = ids_file or _ids_file(folder, name, ids.type, rows)
            array[start:start + len(values)] = values
            start += len(values)
            _write_ids(ids_file, ids)
    finally:
        if ids_file:
            ids_file.close()


def _write_ids(file: Any, ids: pa.Array) -> None:
    if pa.types.is_integer(ids.type):
        ids.to_numpy().tofile(file)
    else:
        file.write("".join(f"{raw}\n" for raw in ids.to_pylist()).encode())


def _ids_file(folder: Path, name: str, kind: pa.DataType, rows: int) -> Any:
    if not pa.types.is_integer(kind):
        return open(folder / f"{name}_ids.txt", "wb")
    file = open(folder / f"{name}_ids.npy", "wb")  # noqa: SIM115
    np.lib.format.write_array_header_1_0(file, _header((rows,), np.int64))
    return file


def _header(shape: tuple[int, ...], dtype: type[np.generic]) -> dict[str, Any]:
    return {"shape": shape, "fortran_order": False, "descr": np.lib.format.dtype_to_descr(np.dtype(dtype))}


Writer = Callable[[Path, str, Blocks, int, int], None]
WRITERS: dict[str, Writer] = {"parquet": write_parquet, "npy": write_npy, "zarr": write_zarr}
