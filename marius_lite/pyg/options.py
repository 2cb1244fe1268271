"""The options of the loaders, by PyTorch Geometric's names, and what is our own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from pydantic import ByteSize, TypeAdapter, ValidationError

from marius_lite.config import machine
from marius_lite.errors import UserError

SUBGRAPHS = ("directional", "bidirectional")
WEIGHTS = (None, "weight", "edge_weight")
"""What ``weight_attr`` may be. Edges of a dataset have one weight at most."""


class LoaderArguments(TypedDict, total=False):
    """See `NeighborLoader`."""

    batch_size: int
    shuffle: bool
    drop_last: bool
    replace: bool
    disjoint: bool
    subgraph_type: Literal["directional", "bidirectional"]
    weight_attr: str | None
    transform: Callable[[Any], Any] | None
    memory: int | str
    folder: Path | str | None
    seed: int
    threads: int | None
    num_workers: int
    persistent_workers: bool
    prefetch_factor: int | None
    pin_memory: bool


@dataclass(frozen=True)
class LoaderOptions:
    """The options with their defaults. Raises UserError for those that cannot be."""

    batch_size: int = 1
    shuffle: bool = False
    drop_last: bool = False
    replace: bool = False
    disjoint: bool = False
    subgraph_type: str = "directional"
    weight_attr: str | None = None
    transform: Callable[[Any], Any] | None = None
    memory: int | str = "auto"
    folder: Path | str | None = None
    seed: int = 0
    threads: int | None = None
    num_workers: int = 0
    persistent_workers: bool = False
    prefetch_factor: int | None = None
    pin_memory: bool = False

    def __post_init__(self) -> None:
        for name, given in (("replace", self.replace), ("disjoint", self.disjoint)):
            if given:
                raise UserError(f"{name}: only False is possible so far")
        if str(self.subgraph_type) not in SUBGRAPHS:
            raise UserError(f"subgraph_type: {self.subgraph_type!r}: only {' and '.join(SUBGRAPHS)} are possible so far")
        if self.weight_attr not in WEIGHTS:
            raise UserError(f"weight_attr: {self.weight_attr!r}: edges of a dataset have one weight: `weight`, or None for none")
        if self.batch_size < 1:
            raise UserError(f"batch_size: {self.batch_size}: give 1 or more")
        _ = self.bytes

    @property
    def bytes(self) -> int:
        """The bytes that a loader may take."""
        if self.memory == "auto":
            return machine.available_memory() // 2
        try:
            return int(TypeAdapter(ByteSize).validate_python(self.memory))
        except ValidationError:
            raise UserError(f"memory: {self.memory!r}: give bytes, such as 4GB, or auto") from None

    @property
    def scratch(self) -> Path:
        """Where temporary files may be."""
        return Path(self.folder) if self.folder is not None else Path(tempfile.gettempdir())

    @property
    def used_threads(self) -> int:
        return machine.cpu_threads() if self.threads is None else self.threads

    def batches(self, items: int) -> int:
        """Return how many batches so many items make."""
        whole, rest = divmod(items, self.batch_size)
        return whole + bool(rest and not self.drop_last)
