"""`preprocess` as a function."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from marius_lite.errors import UserError
from marius_lite.files import remove_tree
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.upload import upload_dataset
from marius_lite.preprocess.build import preprocess
from marius_lite.preprocess.inputs.graphs import with_graphs_opened
from marius_lite.preprocess.inputs.on_disk import SEVERAL, named
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.standard_input import on_disk
from marius_lite.remote.address import address_of
from marius_lite.remote.dataset import require_free


def make_dataset(edges: Any, output: str | Path, **options: Any) -> Dataset:
    """Make a dataset, as `marius-lite preprocess` does. ``options`` are the command's, as texts or values.

    ``edges``, ``valid``, ``test``, or several of them in a list, and all that is given about nodes may be

    - a file or pattern, or a query, which begins with SELECT or WITH, for ``database``: ``sqlite:///FILE``, ``duckdb:///FILE`` or
      ``postgresql://HOST/NAME``;
    - rows with named columns: an Arrow table, a stream of record batches, a polars or pandas frame;
    - a NumPy array or tensor of the shapes that files of arrays have.

    ``edges`` may be one torch_geometric ``Data`` or ``HeteroData``: its features (``x``), labels (``y``), masks and types are
    taken too, unless others are given here. As ``valid`` or ``test`` its ``edge_label_index`` goes before ``edge_index``.

    What is no file is written to disk first, in blocks. The dataset is that of a Parquet or .npy file of the same rows.
    Raises UserError or RunError.
    """
    made_and_sent({"edges": edges, "output": output, **options})
    return Dataset.open(output)


def made_and_sent(given: Mapping[str, Any], standard_input: IO[bytes] | None = None) -> dict[str, Any]:
    """Make a dataset as `make` does. Where ``output`` is an address in object storage, it is made on this machine, then sent.

    Returns its report. Raises UserError where there is a dataset at the address, before anything is made.
    """
    address = address_of(given["output"])
    if address is None:
        return make(given, standard_input)
    require_free(address)
    folder = address.place / "made"
    report = make({**given, "output": folder}, standard_input)
    upload_dataset(folder, str(address))
    remove_tree(address.place)
    return report


def make(given: Mapping[str, Any], standard_input: IO[bytes] | None = None) -> dict[str, Any]:
    """Make a dataset from the arguments of `make_dataset`, and return its report. Raises UserError or RunError."""
    opened = with_graphs_opened(given)
    for name in SEVERAL:
        if opened.get(name) is not None:
            opened[name] = _several(opened[name])
    arguments, inputs = named(opened)
    options = Options.parse(**arguments)
    with ExitStack() as stack:
        stack.enter_context(inputs.on_disk(options))
        if standard_input is not None:
            options = stack.enter_context(on_disk(options, standard_input))
        return preprocess(options)


def _several(given: Any) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        return [given]
    if wrong := next((each for each in given if isinstance(each, (list, tuple))), None):
        raise UserError(f"edges: {str(wrong)[:80]}: a list names several inputs: give pairs as an array of shape (E, 2)")
    return list(given)
