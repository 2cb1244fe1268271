"""Make an index of a run's vectors, out of core: learn lists from a sample, then one pass over all rows.

The pass puts each vector into its list, and meanwhile answers some questions exactly. With them the index is tried before it is
published: it looks into so many lists that it finds as many of the true answers as were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import marius_lite
from marius_lite import files
from marius_lite.encode.vectors import SCRATCH, write_vectors
from marius_lite.errors import UserError
from marius_lite.evaluate.sampling import distinct
from marius_lite.log import log
from marius_lite.nn.model import LinkPredictionModel
from marius_lite.nn.similarities import Inner
from marius_lite.progress_bar import progress_bar
from marius_lite.search.comparing import CosineScorer
from marius_lite.search.faiss_lists import FaissLists, load_faiss
from marius_lite.search.index_folder import FOLDER, VECTORS, IndexWriter, identity, place_of
from marius_lite.search.kinds import IndexPlan, plan_index
from marius_lite.search.node_names import names_bytes, write_names
from marius_lite.search.trial import Trial
from marius_lite.search.vector_index import VectorIndex
from marius_lite.seeds import generator_for, seed_for
from marius_lite.sizes import parse_bytes
from marius_lite.storage.bfloat16 import floats
from marius_lite.storage.row_groups import BLOCK_BYTES, no_sums, summed_blocks
from marius_lite.storage.table import RowTable
from marius_lite.tasks.checkpoint import Checkpoint, open_checkpoint
from marius_lite.tasks.opened_links import read_model
from marius_lite.temporary import remove_scratch, scratch

Blocks = Iterator[tuple[int, npt.NDArray[Any]]]
PART = 1 << 14
"""Rows that are encoded together."""


def index_run(
    run: Path | str,
    kind: str = "auto",
    cosine: bool = False,
    recall: float = 0.95,
    memory: int | str | None = None,
    checkpoint: str | None = None,
    dataset: Path | str | None = None,
) -> dict[str, Any]:
    """Make an index of a checkpoint's vectors, in the run's folder; an older one is replaced. Returns what it is.

    ``kind``: flat, ivf-flat, ivf-pq, or auto: by the number of nodes and the memory. ``cosine``: an index for the cosine of
    angles instead of the model's own similarity. ``recall``: the share of the 10 best answers that it should find; the
    share that it does find, measured, is in the result. ``memory``: bytes, or a size like 4GB; None: the run's. ``dataset``:
    where the run's dataset is, if it was moved.

    Raises UserError where faiss is missing, for a run without vectors, and where memory or disk are too small.
    """
    load_faiss()
    if not 0 < recall <= 1:
        raise UserError(f"--recall {recall}: a share of the answers: more than 0, at most 1")
    with closing(open_checkpoint(Path(run), checkpoint, Path(dataset) if dataset is not None else None)) as found:
        budget = _memory(found, memory)
        model = read_model(found)
        measure = "cosine" if cosine else measure_of(model)
        place = place_of(found.run.path, measure)
        plan = plan_index(kind, found.dataset.manifest.nodes, found.config.model.dim, budget)
        files.require_space(place, _disk(found, plan), "the index")
        files.make_folder(place.parent)
        remove_scratch(found.run.path, SCRATCH)
        with files.lock(found.run.path / FOLDER / "lock"), scratch(found.run.path, SCRATCH) as room:
            writer = IndexWriter(room / measure)
            writer.path.mkdir()
            indexing = _Indexing(found, model, plan, CosineScorer(model) if cosine else None)
            index = indexing.write(writer, plan.learned_from(found.dataset.manifest.nodes, budget), recall)
            writer.publish(place)
        return {"index": str(place), **index}


def measure_of(model: LinkPredictionModel) -> str:
    """Return the measure of an index for the model's own similarity: inner or l2.

    Other distances are not searched as such. Nodes near by the Euclidean distance are scored exactly, and how many of the true
    answers are found so is measured.
    """
    return "inner" if isinstance(model.similarity, Inner) else "l2"


def _memory(found: Checkpoint, memory: int | str | None) -> int:
    try:
        return int(found.config.storage.memory) if memory is None else parse_bytes(memory)
    except ValueError as error:
        raise UserError(f"--memory: {error}") from None


def _disk(found: Checkpoint, plan: IndexPlan) -> int:
    code = plan.width // plan.subspace if plan.subspace else 4 * plan.width
    vectors = 0 if found.stored_vectors else 4 * plan.width
    return found.dataset.manifest.nodes * (code + 8 + vectors) + names_bytes(found.dataset)


class _Indexing:
    """What is known while an index is made."""

    def __init__(self, found: Checkpoint, model: LinkPredictionModel, plan: IndexPlan, cosine: CosineScorer | None):
        self._found, self._model, self._plan, self._cosine = found, model, plan, cosine
        self._dim, self._seed, self._threads = found.config.model.dim, found.config.training.seed, torch.get_num_threads()
        self._measure = "cosine" if cosine else measure_of(model)

    def write(self, writer: IndexWriter, sample: int, recall: float) -> dict[str, Any]:
        """Write all files of the index. Returns what it is. ``sample``: from how many vectors the lists are learned."""
        found, encoder, plan = self._found, self._model.encoder, self._plan
        table = found.stored_vectors
        if table is None:
            assert encoder is not None
            table = write_vectors(found.dataset, found.config, encoder, found.table, writer.path / VECTORS)
        trial = Trial.drawn(found, self._model, self._cosine)
        lists = self._learned(table, sample, trial)
        self._write_lists(writer, table, lists, trial)
        facts = {
            "program_version": marius_lite.__version__,
            **identity(found),
            "measure": self._measure,
            "plan": asdict(plan),
            "rows": "checkpoint" if found.stored_vectors else VECTORS,
        }
        del lists
        made = writer.finished({**facts, "probing": [1, 1], "recall": {}})
        with closing(VectorIndex.open(made, table, self._dim, self._threads)) as index:
            probing, recalls = trial.tuned(index, plan.lists, recall)
        if probing.probes == plan.lists > 1:
            log.warning("a query looks into all %s lists, so the index saves nothing: --exact is as quick", f"{plan.lists:,}")
        made = writer.finished({**facts, "probing": list(probing), "recall": recalls})
        return {
            "kind": plan.kind,
            "measure": self._measure,
            "checkpoint": found.path.name,
            "nodes": found.dataset.manifest.nodes,
            "lists": plan.lists,
            "lists of a query": probing.probes,
            "bytes": made.bytes,
            **recalls,
        }

    def _learned(self, table: RowTable, sample: int, trial: Trial) -> FaissLists:
        """Learn lists from a sample of the rows. The trial gets the rows that it asks about in the same pass."""
        drawn = distinct(table.nodes, sample, generator_for(self._seed, "search/sample"))
        wanted = np.union1d(drawn, trial.nodes)
        rows = np.empty((len(wanted), self._dim), np.float32)
        with progress_bar("read", "row", table.nodes) as bar:
            for first, values in _values(table, self._dim, lambda k: table.blocks(k, BLOCK_BYTES)):
                part = slice(*np.searchsorted(wanted, [first, first + len(values)]))
                rows[part] = floats(values[wanted[part] - first])
                bar.update(len(values))
        trial.ask(rows[np.searchsorted(wanted, trial.nodes)])
        lists = FaissLists(self._plan, self._measure == "l2", self._threads)
        if self._plan.lists > 1:
            log.info("learn %s lists from %s of %s nodes", f"{self._plan.lists:,}", f"{sample:,}", f"{table.nodes:,}")
        lists.learn(self._indexed(rows[np.searchsorted(wanted, drawn)]), seed_for(self._seed, "search/lists"))
        return lists

    def _write_lists(self, writer: IndexWriter, table: RowTable, lists: FaissLists, trial: Trial) -> None:
        """Put all nodes into lists, and write these."""
        of_node, codes = np.empty(table.nodes, np.uint16), np.empty((table.nodes, lists.code_bytes), np.uint8)
        sums = no_sums(table)
        with progress_bar("index", "row", table.nodes) as bar:
            for first, values in _values(table, self._dim, lambda k: summed_blocks(table, k, sums[k])):
                for start in range(0, len(values), PART):
                    rows = np.ascontiguousarray(floats(values[start : start + PART]))
                    at = slice(first + start, first + start + len(rows))
                    of_node[at], codes[at] = lists.encode(self._indexed(rows))
                    trial.see(first + start, rows)
                    bar.update(len(rows))
        order = np.argsort(of_node, kind="stable")
        writer.write("learned", iter([np.frombuffer(lists.learned(), np.uint8)]))
        writer.write("counts", iter([np.bincount(of_node, minlength=self._plan.lists)]))
        writer.write("codes", (codes[order[start : start + PART]] for start in range(0, len(order), PART)))
        writer.write("nodes", iter([order]))
        writer.write("groups", iter([sums]))
        write_names(writer, self._found.dataset)

    def _indexed(self, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the vectors that lists hold of rows (n, dim)."""
        if self._cosine is None:
            return rows
        directions: npt.NDArray[np.float32] = self._cosine.directions(torch.from_numpy(rows)).numpy()
        return directions


def _values(table: RowTable, dim: int, blocks: Callable[[int], Blocks]) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Yield (id of the first node, values (n, dim) as they are stored) of all nodes, in order."""
    for k in range(table.partitions):
        for first, block in blocks(k):
            values = block[: max(0, table.size(k) - first), :dim]
            yield k * table.rows_per_partition + first, values
