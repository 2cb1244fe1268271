"""Export the vectors of nodes and relations, or the classes of nodes, with raw ids, block by block."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import marius_lite
from marius_lite import files
from marius_lite.errors import UserError
from marius_lite.export.format import FORMATS, ExportFormat
from marius_lite.graph.dataset import Dataset
from marius_lite.places import at_place
from marius_lite.temporary import folder_beside

if TYPE_CHECKING:
    from marius_lite.tasks.task import Exported

ID_BYTES = 64
"""A guess of the bytes of a raw id in a file."""


def export_run(
    run: Path | str, output: Path | str, format: str = "parquet", checkpoint: str | None = None, dataset: Path | str | None = None
) -> dict[str, Any]:
    """Write a checkpoint's vectors, or the classes it gives to nodes, into the new folder ``output``. Returns a summary.

    The folder has nodes, relations and export.json. Vectors are float32, without optimizer state. Reciprocal relations are in
    files of their own, reciprocal_relations.

    - parquet: nodes.parquet and relations.parquet, with columns raw_id and vector.
    - npy: nodes.npy (N, dim) and relations.npy. The raw id of row i is entry i of *_ids.npy (integers) or line i of *_ids.txt.
    - zarr: a group with the arrays nodes and relations. Raw ids are as with npy.
    - safetensors: nodes.safetensors and relations.safetensors, with the tensor ``vector`` and, where raw ids are integers, the
      tensor ``raw_id``; other raw ids are as with npy. These three refuse raw ids with a line end.
    - word2vec: nodes.txt and relations.txt: a line with the number of rows and their width, then a raw id and its numbers in
      each line. It refuses raw ids with white space, and the classes of nodes. The only relation, if it has no name, is
      called relation.
    - sqlite, duckdb: a database, vectors.db or vectors.duckdb, with the tables nodes and relations and an index of raw_id. A
      vector is a blob of float32 (little endian) in SQLite, FLOAT[dim] in DuckDB.
    - datasets: Parquet files in the layout of the Hugging Face Hub, with a card: ``datasets.load_dataset(output, "nodes")``.

    For a run that classifies nodes, there are the split, the likeliest class and the probability of each class. Where nodes may
    have several classes, the column ``classes`` lists those that are probable enough (`evaluation.calibrated`). Classes have
    their names where the dataset has names; export.json lists the classes in the order of the probabilities. NumPy and Zarr
    arrays have numbers of classes and splits; where nodes may have several classes, a truth value for each class.

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


def described(format: str) -> ExportFormat:
    """Return the description of a format. Raises UserError for one that is not known."""
    if format not in FORMATS:
        raise UserError(f"--format {format}: unknown: use one of {', '.join(FORMATS)}")
    description: ExportFormat = at_place(FORMATS[format])
    return description


def check_place(output: Path, format: str, dataset: Dataset, width: int) -> None:
    """Raise UserError for an unknown format, an existing ``output``, or a disk without room for ``width`` numbers a node."""
    description = described(format)
    if output.exists():
        raise UserError(f"{output}: exists already: choose another --output or remove it")
    files.require_space(output, dataset.manifest.nodes * (width * description.number_bytes + ID_BYTES), "the export")


def write_exported(dataset: Dataset, output: Path, format: str, exported: Exported) -> dict[str, Any]:
    """Write the folder ``output``, all of it or nothing. Returns a summary. Raises RunError where the disk fails."""
    summary = {
        "format": format,
        "nodes": dataset.manifest.nodes,
        **exported.facts,
        "dataset": dataset.fingerprint,
        "program_version": marius_lite.__version__,
    }
    with files.disk_errors(output), folder_beside(output) as beside:
        description = described(format)
        for name, blocks, rows in exported.tables:
            description.write(beside, name, blocks, rows, exported.names)
        description.finish(beside, {**summary, "tables": [name for name, _, _ in exported.tables]})
        (beside / "export.json").write_text(json.dumps(summary, indent=1) + "\n")
        files.sync_tree(beside)
        files.publish(beside, output)
    return {"output": str(output), **summary}
