"""Begin a run from a checkpoint of another run, over an older version of the dataset or the same one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from marius_lite._native import crc32c
from marius_lite.checkpoint.dense import load_weights, optimizer_state, read_dense
from marius_lite.checkpoint.run_folder import RunFolder, read_record
from marius_lite.checkpoint.state import STATE
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.files import read
from marius_lite.graph.dataset import Dataset
from marius_lite.log import log
from marius_lite.nn.biases import SIDES
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.printable import printable
from marius_lite.rows.warm_rows import WarmRows
from marius_lite.tasks.checkpoint import Checkpoint, open_checkpoint
from marius_lite.warm.frozen import RELATIONS

SAME = (
    "task",
    "model.encoder",
    "model.inputs",
    "model.layers",
    "model.decoder",
    "model.dim",
    "model.reciprocal",
    "model.biases",
    "model.degree_unit",
    "model.degrees_apart",
    "model.codes",
    "model.known_classes",
    "optimizer.rows.name",
    "optimizer.dense.name",
    "storage.row_dtype",
)
"""Settings that say what rows and weights are: they must be those of the run that is gone on from."""


@dataclass(frozen=True)
class WarmStart:
    """The open ``checkpoint`` from which a run over ``dataset`` begins."""

    checkpoint: Checkpoint
    dataset: Dataset
    config: Config

    @property
    def record(self) -> dict[str, Any]:
        """What the run's record says of it. With it `again` opens the same checkpoint, or none."""
        place, known = self.checkpoint.path, self.checkpoint.dataset
        return {
            "run": self.checkpoint.run.address or str(self.checkpoint.run.path.resolve()),
            "checkpoint": place.name,
            "state": _checksum(place),
            "fingerprint": known.fingerprint,
            "nodes": known.manifest.nodes,
            "relations": known.manifest.relations,
        }

    @property
    def rows(self) -> WarmRows | None:
        """What gives the first rows; None where no rows are learned."""
        table, config = self.checkpoint.table, self.config
        if table is None:
            return None
        values = config.model.dim - (SIDES if config.has_biases else 0)  # a new node's biases follow from its own edges
        return WarmRows(table, self.dataset.edges("train"), values)

    def load(self, model: torch.nn.Module, optimizer: DenseOptimizer) -> None:
        """Take over weights and the optimizer's state. New relations keep their first weights. Raises UserError."""
        before, path = self.checkpoint, self.checkpoint.path
        tensors = read_dense(path, before.state.dense)
        grown = dict(tensors)
        for name, new in (*_named(model.state_dict(), "model."), *_state_like(model, tensors)):
            if name in tensors and name.split("/")[0].endswith(f".{RELATIONS}") and new.shape != tensors[name].shape:
                known, relations = before.dataset.manifest.relations, self.dataset.manifest.relations
                grown[name] = _with_known(new.detach().cpu().clone(), tensors[name], known, relations)
        load_weights(model, grown, path)
        optimizer.load_state_tensors(optimizer_state(grown))

    def close(self) -> None:
        self.checkpoint.close()


def settings_of(run: Path) -> Path:
    """Return the file with the settings of a run, which a run that goes on from it takes unless others are given.

    Raises UserError where there is no run.
    """
    folder = RunFolder.to_read(run)
    read_record(folder)  # a folder that is no run is told first
    log.info(printable(f"settings of {run}; `--config` takes others, `--set` changes some: training.epochs, for example"))
    return folder.config_file


def open_warm_start(run: Path, dataset: Dataset, config: Config, record: dict[str, Any] | None = None) -> WarmStart:
    """Open the best checkpoint of a run, else its latest, or the one that the ``record`` of a warm start names.

    Raises UserError where its dataset is no older version of ``dataset``, where its settings mean other rows or weights, where
    it has nothing of what is to be frozen, or where the checkpoint has changed since.
    """
    if config.trains_layerwise:
        raise UserError("--from: `training.method` layerwise trains each layer from its beginning: leave --from out")
    start = WarmStart(open_checkpoint(run, record["checkpoint"] if record else None), dataset, config)
    try:
        if record is not None and {name: start.record[name] for name in record} != record:  # earlier versions said less
            raise UserError(f"{start.checkpoint.path}: has changed since a run began from it: start a new run")
        _require_older(start.checkpoint, dataset)
        _require_same(start.checkpoint, config)
        if record is None:
            _require_kept(start.checkpoint, config.training.freeze)
    except BaseException:
        start.close()
        raise
    return start


def _require_older(checkpoint: Checkpoint, dataset: Dataset) -> None:
    ancestors = [each.fingerprint for each in dataset.manifest.lineage or ()]
    if checkpoint.dataset.fingerprint not in (dataset.fingerprint, *ancestors):
        raise UserError(
            f"{checkpoint.run.path}: was trained on {checkpoint.dataset.path}, no older version of {dataset.path}: only a "
            "dataset that `marius-lite update` made of it has the same node ids"
        )


def _require_same(checkpoint: Checkpoint, config: Config) -> None:
    for name in SAME:
        before, now = (_setting(each, name) for each in (checkpoint.config, config))
        if before != now:
            raise UserError(f"--from: `{name}` is {now}, {checkpoint.run.path} has {before}: give --set {name}={before}")


def _require_kept(checkpoint: Checkpoint, frozen: str) -> None:
    """Raise UserError where a run has nothing of what is to stay as it is."""
    if frozen == "none":
        return
    tensors = read_dense(checkpoint.path, checkpoint.state.dense)
    has_rows = checkpoint.table is not None
    has_relations = any(name.split(".")[-1] == RELATIONS and tensor.numel() for name, tensor in tensors.items())
    what, there = {
        "old": ("no learned rows of nodes", has_rows),
        "relations": ("no weights of relations", has_relations),
        "both": ("neither learned rows of nodes nor weights of relations", has_rows or has_relations),
    }[frozen]
    if not there:
        raise UserError(f"`training.freeze` is {frozen}: {checkpoint.run.path} has {what}, so nothing would stay: leave it out")


def _setting(config: Config, name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _checksum(checkpoint: Path) -> int:
    return int(crc32c(np.frombuffer(read(checkpoint / STATE), np.uint8)))


def _named(tensors: dict[str, torch.Tensor], prefix: str) -> list[tuple[str, torch.Tensor]]:
    return [(f"{prefix}{name}", tensor) for name, tensor in tensors.items()]


def _state_like(model: torch.nn.Module, tensors: dict[str, torch.Tensor]) -> list[tuple[str, torch.Tensor]]:
    """Return zeros of the shapes that the optimizer's state of ``tensors`` has for this model."""
    parameters = dict(model.named_parameters())
    names = [name for name in tensors if name.startswith("optimizer.") and tensors[name].ndim]
    return [(name, torch.zeros_like(parameters[key])) for name in names if (key := _parameter(name)) in parameters]


def _parameter(name: str) -> str:
    return name.removeprefix("optimizer.").rpartition("/")[0]


def _with_known(new: torch.Tensor, old: torch.Tensor, known: int, relations: int) -> torch.Tensor:
    """Return ``new`` with the rows of ``old`` for known relations, and for their inverses, where there are rows for them."""
    for part in range(len(new) // relations):
        new[part * relations : part * relations + known] = old[part * known : (part + 1) * known]
    return new
