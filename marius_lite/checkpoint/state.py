"""The state of a run at a checkpoint. It is a few numbers, because all that is random follows from the place in the run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from marius_lite.config.metric import better
from marius_lite.config.schedule import REGULARIZER_TRIED, tried_when
from marius_lite.errors import UserError
from marius_lite.files import read_json
from marius_lite.sealed import checksum_of

STATE = "state.json"
STATE_VERSION = 2


@dataclass(frozen=True, order=True)
class Cursor:
    """The place in a run of the first batch that is not finished."""

    epoch: int = 0
    step: int = 0
    batch: int = 0

    @property
    def name(self) -> str:
        return f"{self.epoch}.{self.step}.{self.batch}"

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch that is finished; 0 where none is."""
        return self.epoch if self.step or self.batch else max(0, self.epoch - 1)


@dataclass(frozen=True)
class BestCheckpoint:
    """The checkpoint of the best evaluation so far, and its figure."""

    checkpoint: str
    value: float


@dataclass(frozen=True)
class State:
    """What ``state.json`` holds, beside its version and its own checksum.

    ``checksums``: crc32c of each partition's chunk file. ``dense``: crc32c of dense.safetensors. ``arrays``: crc32c of Zarr's
    files. ``metrics_length``: bytes of metrics.jsonl. ``loss_sum``, ``edges``: of the unfinished epoch so far. ``evaluate``:
    whether an evaluation is due before the run continues. ``best``: the best evaluation that has a checkpoint. ``highest``: the
    best figure of all evaluations; ``since``: how many evaluations there were after it. ``drops``: how often plateaus made the
    learning rates drop. ``weakened``: how many steps weaker they made the regularizer; below 0: stronger. ``tries_first``: what
    they try first, 1: weaker, -1: stronger.
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
    tries_first: int = 1
    dense: int = 0
    arrays: int = 0

    def ranked(self, metric: str, value: float | None) -> State:
        """Return the state after the evaluation of its checkpoint. ``value``: the figure, which may make it the best; None:
        there is none."""
        is_best = value is not None and better(metric, value, self.best.value if self.best else None)
        best = BestCheckpoint(self.cursor.name, value) if value is not None and is_best else self.best
        return replace(self, evaluate=False, best=best)

    def eased(self) -> State:
        """Return the state with a regularizer that is one step weaker, which the next evaluations may show.

        Plateaus are counted anew, and try a stronger one first.
        """
        return replace(self, weakened=self.weakened + 1, tries_first=-1, since=0)

    def measured(self, metric: str, value: float | None, patience: int = 0, weakens: bool = False, counts: bool = True) -> State:
        """Return the state after an evaluation, whether or not it has a checkpoint.

        ``counts``: whether one that is not better counts. Where it does not, nothing changes.

        Learning rates drop each time that ``patience`` evaluations in a row were not better; 0: never. With ``weakens`` the
        regularizer changes first: it becomes weaker, then stronger, or the other way round.
        Where neither gives a better evaluation, it becomes what it was, and the rates drop. Which of them gave a better one is
        tried first the next time: one step is seldom enough.
        """
        if better(metric, value, self.highest):
            tried = tried_when(self.since // patience) if patience and weakens else 0
            return replace(self, highest=value, since=0, tries_first=self.tries_first * (tried or 1))
        if not counts:
            return self
        since = self.since + 1
        if patience == 0 or since % patience:
            return replace(self, since=since)
        change = REGULARIZER_TRIED.get(since // patience, 0) * self.tries_first if weakens else 0
        drops = self.drops + (not weakens or since // patience >= max(REGULARIZER_TRIED))
        return replace(self, since=since, drops=drops, weakened=self.weakened + change)

    def measured_anew(self) -> State:
        """Return the state without the figures so far, because those that follow are of another kind."""
        return replace(self, best=None, highest=None, since=0)

    def of_new_stage(self) -> State:
        """Return the state with which the next stage of a run begins: figures and learning rates are as at the beginning."""
        return replace(self.measured_anew(), drops=0, weakened=0)

    def to_json(self) -> bytes:
        """Return the text of ``state.json``."""
        tree = {**asdict(self), "version": STATE_VERSION}
        return json.dumps({**tree, "checksum": checksum_of(tree)}, indent=1).encode()


def read_state(checkpoint: Path) -> State:
    """Read the state of a checkpoint. Raises UserError where it is damaged, of another version, or of another checkpoint."""
    state = read_copy(checkpoint)
    if state.cursor.name != checkpoint.name:
        raise UserError(
            f"{checkpoint / STATE}: it is the state of checkpoint {state.cursor.name}, not of this folder: choose "
            "another checkpoint with --checkpoint"
        )
    return state


def read_copy(checkpoint: Path) -> State:
    """Read the state of a checkpoint whose folder may have another name. Raises UserError where it is damaged."""
    file = checkpoint / STATE
    try:
        tree = read_json(file)
        version = tree["version"]
        if version != STATE_VERSION:
            raise UserError(
                f"{file}: checkpoint format {version}, this program reads {STATE_VERSION}: use the version that wrote it"
            )
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
