"""What stays as it is while a run goes on from another: rows of the nodes it knew, weights of the relations it knew."""

from __future__ import annotations

from typing import Any

import torch

from marius_lite.checkpoint.run_folder import RunFolder, read_record
from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.graph.dataset import Dataset
from marius_lite.optim.dense import DenseOptimizer
from marius_lite.rows.host import HostRows
from marius_lite.rows.resident import ResidentRows

WARM = "from"
"""The key of what a run began from, in its record."""
RELATIONS = "relations"
"""The weights that have rows for relations: first those of the relations, then, where there are any, of their inverses."""


def require_frozen(config: Config, before: dict[str, Any] | None, dataset: Dataset) -> None:
    """Raise UserError where `training.freeze` asks for what cannot be. ``before``: what the run's record says of the run that it
    goes on from, if there is one."""
    frozen, replay = config.training.freeze, config.training.replay
    if (frozen != "none" or replay != 1) and before is None:
        setting = "training.freeze" if frozen != "none" else "training.replay"
        raise UserError(f"`{setting}`: nothing is known that could stay or come again: name a run with --from, or leave it out")
    if frozen != "none" and config.device != "cpu":
        raise UserError("`training.freeze`: rows and weights are kept as they are on the CPU alone: give --set device=cpu")
    if before is not None and before["fingerprint"] == dataset.fingerprint and (frozen in ("old", "both") or replay == 0):
        raise UserError(f"{dataset.path}: has no node or edge that the run of --from did not know: nothing would be learned")


def freeze(run: RunFolder, config: Config, dataset: Dataset, rows: ResidentRows, optimizer: DenseOptimizer) -> None:
    """Keep what `training.freeze` names as it is from now on. Does nothing where that is nothing."""
    frozen = config.training.freeze
    if frozen == "none":
        return
    before = read_record(run)[WARM]
    if frozen in ("old", "both") and isinstance(rows, HostRows):
        rows.leave(before["nodes"])
    if frozen in ("relations", "both"):
        for name, parameter in optimizer.parameters.items():
            if name.split(".")[-1] == RELATIONS:
                optimizer.keep(name, known_rows(len(parameter), before["relations"], dataset.manifest.relations))


def known_rows(rows: int, known: int, relations: int) -> torch.Tensor:
    """Return the places of the ``known`` first of ``relations`` in weights of so many ``rows``: also of their inverses."""
    return torch.cat([part * relations + torch.arange(known) for part in range(rows // relations)])
