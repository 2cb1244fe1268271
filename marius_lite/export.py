"""Export the vectors of nodes and relations, or the classes of nodes, with raw ids: as Parquet, NumPy or Zarr, by partition."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import marius_lite
from marius_lite import files
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset

if TYPE_CHECKING:
    from marius_lite.tasks.task import Blocks, Columns, Exported

BLOCK_BYTES = 64 << 20
ID_BYTES = 64
"""A guess of the bytes of a raw id in a file."""

Values = npt.NDArray[np.float32]
Names = Mapping[str, Sequence[str]]
"""For each column whose numbers stand for names: the names in the order of the numbers."""


def export_run(
    run: Path | str, output: Path | str, format: str = "parquet", checkpoint: str | None = None, dataset: Path | str | None = None
) -> dict[str, Any]:
    """Write a checkpoint's vectors, or the classes it gives to nodes, into the new folder ``output``. Returns a summary.

    The folder has nodes, relations and export.json. Vectors are float32, without optimizer state. Reciprocal relations are in
    files of their own, reciprocal_relations.

    - parquet: nodes.parquet and relations.parquet, with columns raw_id and vector.
    - npy: nodes.npy (N, dim) and relations.npy. The raw id of row i is entry i of *_ids.npy (integers) or line i of *_ids.txt.
    - zarr: a group with the arrays nodes and relations. Raw ids are as with npy. Both refuse raw ids with a line end.

    For a run that classifies nodes, there are the split, the likeliest class and the probability of each class. Where nodes may
    have several classes, the column ``classes`` lists those whose probability is at least a half. Classes have their names where
    the dataset has names; export.json lists the classes in the order of the probabilities. NumPy and Zarr arrays have numbers of
    classes and splits; where nodes may have several classes, a truth value for each class.

    ``dataset``: where the run's dataset is, if it was moved. Raises UserError for an existing ``output``, an unknown format,
    or raw ids that it cannot hold.
    """
    from marius_lite.tasks import task_of
    from marius_lite.tasks.checkpoint import open_checkpoint

    with closing(open_checkpoint(Path(run), checkpoint, Path(dataset) if dataset is not None else None)) as found:
        task = task_of(found.config)
        check_place(Path(output), format, found.dataset, task.exported_width(found))
        with task.exported(found) as exported:
            return write_exported(found.dataset, Path(output), format, exported)


def check_place(output: Path, format: str, dataset: Dataset, width: int) -> None:
    """Raise UserError for an unknown format, an existing ``output``, or a disk without room for ``width`` numbers a node."""
    if format not in WRITERS:
        raise UserError(f"--format {format}: unknown: use one of {', '.join(WRITERS)}")
    if output.exists():
        raise UserError(f"{output}: exists already: choose another --output or remove it")
    files.require_space(output, dataset.manifest.nodes * (width * 4 + ID_BYTES), "the export")


def write_exported(dataset: Dataset, output: Path, format: str, exported: Exported) -> dict[str, Any]:
    """Write the folder ``output``, all of it or nothing. Returns a summary. Raises RunError where the disk fails."""
    beside = output.with_name(f".{output.name}.tmp")
    files.remove_tree(beside)
    summary = {
        "format": format,
        "nodes": dataset.manifest.nodes,
        **exported.facts,
        "dataset": dataset.fingerprint,
        "program_version": marius_lite.__version__,
    }
    try:
        beside.mkdir(parents=True)
        for name, blocks, rows in exported.tables:
            WRITERS[format](beside, name, blocks, rows, exported.names)
        (beside / "export.json").write_text(json.dumps(summary, indent=1) + "\n")
        files.sync_tree(beside)
        files.publish(beside, output)
    except OSError as error:
        raise files.disk_error(error, output) from error
    finally:
        files.remove_tree(beside)
    return {"output": str(output), **summary}


def write_parquet(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write a Parquet file, one row group for each block. A column of more than one number a row becomes lists."""
    writer = None
    try:
        for ids, columns in blocks:
            ordered = [*list(columns)[1:], *list(columns)[:1]]  # wide lists last
            table = pa.table({"raw_id": ids, **{key: _arrow(columns[key], names.get(key)) for key in ordered}})
            # Vectors cannot be compressed: it would only cost time.
            writer = writer or pq.ParquetWriter(
                folder / f"{name}.parquet",
                table.schema,
                compression="none",
                use_dictionary=[*names, *(f"{key}.list.element" for key in names)] or False,
            )
            writer.write_table(table, row_group_size=len(ids))
    finally:
        if writer:
            writer.close()


def _arrow(values: npt.NDArray[Any], names: Sequence[str] | None) -> pa.Array:
    if values.dtype == bool:
        return _lists(values, names)
    if values.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
    if names is not None:
        return pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), pa.array(list(names), pa.string()))
    return pa.array(values)


def _lists(values: npt.NDArray[np.bool_], names: Sequence[str] | None) -> pa.Array:
    """Return for each row of truth values the numbers or names of the columns that are true."""
    rows, columns = np.nonzero(values)
    offsets = np.searchsorted(rows, np.arange(len(values) + 1)).astype(np.int32)
    items = pa.array(columns.astype(np.int64))
    return pa.ListArray.from_arrays(pa.array(offsets), items if names is None else pa.array(list(names), pa.string()).take(items))


def write_npy(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write NumPy files: the main column in ``name``.npy, each other column in a file of its own, and the ids in a file."""
    with ExitStack() as opened:
        outputs: dict[str, Any] = {}
        for ids, columns in blocks:
            if not outputs:
                outputs[""] = opened.enter_context(_ids_file(folder, name, ids.type, rows))
                for key, file in zip(columns, _array_names(name, columns)):
                    outputs[key] = opened.enter_context(open(folder / f"{file}.npy", "wb"))
                    header = _header((rows, *columns[key].shape[1:]), columns[key].dtype)
                    np.lib.format.write_array_header_1_0(outputs[key], header)
            for key, values in columns.items():
                values.tofile(outputs[key])
            _write_ids(outputs[""], ids)


def write_zarr(folder: Path, name: str, blocks: Blocks, rows: int, names: Names) -> None:
    """Write uncompressed Zarr arrays of ``rows`` rows in the group ``folder``, and the ids in a file."""
    import zarr

    group = zarr.open_group(folder, mode="a")
    start, arrays = 0, dict[str, Any]()
    with ExitStack() as opened:
        for ids, columns in blocks:
            if not arrays:
                ids_file = opened.enter_context(_ids_file(folder, name, ids.type, rows))
                for key, file in zip(columns, _array_names(name, columns)):
                    values = columns[key]
                    chunk = max(1, BLOCK_BYTES // (values.itemsize * int(np.prod(values.shape[1:]))))
                    arrays[key] = group.create_array(
                        file,
                        shape=(rows, *values.shape[1:]),
                        dtype=values.dtype,
                        compressors=None,
                        filters=None,
                        chunks=(min(chunk, rows), *values.shape[1:]),
                    )
            for key, values in columns.items():
                arrays[key][start : start + len(values)] = values
            start += len(ids)
            _write_ids(ids_file, ids)


def _array_names(name: str, columns: Columns) -> list[str]:
    """Return the names of the columns' files: ``nodes`` for the main column, ``nodes_class`` for another."""
    return [name, *(f"{name}_{key}" for key in list(columns)[1:])]


def _write_ids(file: Any, ids: pa.Array) -> None:
    if pa.types.is_integer(ids.type):
        ids.to_numpy().tofile(file)
        return
    names = ids.to_pylist()
    if broken := next((name for name in names if "\n" in name or "\r" in name), None):
        raise UserError(
            f"raw id {broken!r}: has a line end, but files of ids have one id in each line: use --format parquet, which keeps it"
        )
    file.write("".join(f"{name}\n" for name in names).encode())


def _ids_file(folder: Path, name: str, kind: pa.DataType, rows: int) -> Any:
    if not pa.types.is_integer(kind):
        return open(folder / f"{name}_ids.txt", "wb")
    file = open(folder / f"{name}_ids.npy", "wb")  # noqa: SIM115
    np.lib.format.write_array_header_1_0(file, _header((rows,), np.dtype(np.int64)))
    return file


def _header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Any]:
    return {"shape": shape, "fortran_order": False, "descr": np.lib.format.dtype_to_descr(dtype)}


Writer = Callable[[Path, str, "Blocks", int, Names], None]
WRITERS: dict[str, Writer] = {"parquet": write_parquet, "npy": write_npy, "zarr": write_zarr}
