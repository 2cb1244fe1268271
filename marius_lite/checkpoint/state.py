"""The state of a run at a checkpoint: a few numbers, since everything random is derived from its place in the run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from marius_lite.config.metric import better
from marius_lite.errors import UserError
from marius_lite.files import read_json
from marius_lite.sealed import checksum_of

STATE = "state.json"
STATE_VERSION = 2
REGULARIZER_TRIED = {1: 1, 3: -2, 5: 1}
"""How many steps weaker the regularizer becomes at the first plateaus in a row: weaker, stronger, as it was. Each is borne for
two of them, since rows take longer than an evaluation to show what it does."""


@dataclass(frozen=True, order=True)
class Cursor:
    """The first batch that is not finished."""

    epoch: int = 0
    step: int = 0
    batch: int = 0

    @property
    def name(self) -> str:
        return f"{self.epoch}.{self.step}.{self.batch}"


@dataclass(frozen=True)
class BestCheckpoint:
    """The best evaluation so far, and its checkpoint."""

    checkpoint: str
    value: float


@dataclass(frozen=True)
class State:
    """What ``state.json`` holds, beside its version and a checksum of itself.

    ``checksums``: crc32c of each partition's chunk file; ``loss_sum``, ``edges``: of the unfinished epoch so far;
    ``highest``: the best of all evaluations so far, ``since`` how many of them ago; ``drops``, ``weakened``: how often the
    learning rates dropped, and how many steps weaker the regularizer stands (below 0: stronger), since evaluations were none
    better; ``dense``: crc32c of dense.safetensors, ``arrays``: of Zarr's files; ``metrics_length``: bytes of metrics.jsonl at
    the checkpoint; ``evaluate``: an evaluation is due before going on.
    """

    cursor: Cursor
    fingerprint: str
    checksums: dict[int, int]
    metrics_length: int
    loss_sum: float = 0.0
    edges: int = 0
    evaluate: bool = False
    best: BestCheckpoint | None = None
    highest: float | None = None
    since: int = 0
    drops: int = 0
    weakened: int = 0
    dense: int = 0
    arrays: int = 0

    def ranked(self, metric: str, value: float | None) -> State:
        """After the evaluation of this checkpoint, which is the best one now if ``value`` says so; None: there is no figure."""
        is_best = value is not None and better(metric, value, self.best.value if self.best else None)
        best = BestCheckpoint(self.cursor.name, value) if value is not None and is_best else self.best
        return replace(self, evaluate=False, best=best)

    def measured(self, metric: str, value: float | None, patience: int = 0, weakens: bool = False) -> State:
        """After an evaluation, of this checkpoint or between two. Learning rates drop each time that ``patience`` of them in a
        row were none better; 0: never. With ``weakens`` the regularizer goes first: it is weaker, then stronger, and where
        neither was better it is as before, and rates drop."""
        if better(metric, value, self.highest):
            return replace(self, highest=value, since=0)
        since = self.since + 1
        if patience == 0 or since % patience:
            return replace(self, since=since)
        change = REGULARIZER_TRIED.get(since // patience, 0) if weakens else 0
        drops = self.drops + (not weakens or since // patience >= max(REGULARIZER_TRIED))
        return replace(self, since=since, drops=drops, weakened=self.weakened + change)

    def to_json(self) -> bytes:
        tree = {**asdict(self), "version": STATE_VERSION}
        return json.dumps({**tree, "checksum": checksum_of(tree)}, indent=1).encode()


def read_state(checkpoint: Path) -> State:
    """The state of one checkpoint folder. Raises UserError if it is damaged, of another version or of another checkpoint."""
    state = read_copy(checkpoint)
    if state.cursor.name != checkpoint.name:
        raise UserError(f"{checkpoint / STATE}: it is the state of checkpoint {state.cursor.name}, not of this folder: choose "
                        "another checkpoint with --checkpoint")
    return state


def read_copy(checkpoint: Path) -> State:
    """Read the state of a checkpoint folder, whatever its name."""
    file = checkpoint / STATE
    try:
        tree = read_json(file)
        version = tree["version"]
        if version != STATE_VERSION:
            raise UserError(f"{file}: checkpoint format {version}, this program reads {STATE_VERSION}: use the version that "
                            "wrote it")
        if tree.pop("checksum", None) != checksum_of(tree):
            raise UserError(f"{file}: damaged, its checksum is wrong or missing: choose another checkpoint with --checkpoint")
        del tree["version"]
        tree["cursor"] = Cursor(**tree["cursor"])
        tree["best"] = BestCheckpoint(**tree["best"]) if tree["best"] else None
        tree["checksums"] = {int(k): v for k, v in tree["checksums"].items()}
        return State(**tree)
    except FileNotFoundError:
        raise UserError(f"{checkpoint}: no checkpoint (it has no state.json)") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{file}: damaged: {error}: choose another checkpoint with --checkpoint") from None
