"""The options of the loaders, by PyTorch Geometric's names, and what is our own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from marius_lite.config import machine
from marius_lite.errors import UserError
from marius_lite.sizes import parse_bytes
from marius_lite.storage.packs import scratch_beside

SUBGRAPHS = ("directional", "bidirectional", "induced")
WEIGHTS = (None, "weight", "edge_weight")
"""What ``weight_attr`` may be. Edges of a dataset have one weight at most."""


class LoaderArguments(TypedDict, total=False):
    """See `NeighborLoader`."""

    batch_size: int
    shuffle: bool
    drop_last: bool
    replace: bool
    disjoint: bool
    subgraph_type: Literal["directional", "bidirectional", "induced"]
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

    @classmethod
    def of(cls, given: LoaderArguments) -> LoaderOptions:
        """Return the options that a user gives by name."""
        unknown = [name for name in given if name not in cls.__dataclass_fields__]
        if unknown:
            raise UserError(f"{unknown[0]}: no option of a loader: there are {', '.join(cls.__dataclass_fields__)}")
        return cls(**given)

    def __post_init__(self) -> None:
        if self.subgraph not in SUBGRAPHS:
            raise UserError(f"subgraph_type: {self.subgraph_type!r}: give {', '.join(SUBGRAPHS)}")
        if self.weight_attr not in WEIGHTS:
            raise UserError(f"weight_attr: {self.weight_attr!r}: edges of a dataset have one weight: `weight`, or None for none")
        if self.batch_size < 1:
            raise UserError(f"batch_size: {self.batch_size}: give 1 or more")
        if self.threads is not None and self.threads < 1:
            raise UserError(f"threads: {self.threads}: give 1 or more, or None for all")
        if self.folder is not None and not Path(self.folder).is_dir():
            raise UserError(f"folder: {self.folder}: there is no such folder")
        _ = self.bytes

    @property
    def subgraph(self) -> str:
        """The type of subgraph by name: PyTorch Geometric has an enumeration too."""
        return str(getattr(self.subgraph_type, "value", self.subgraph_type))

    @property
    def bytes(self) -> int:
        """The bytes that a loader may take."""
        if self.memory == "auto":
            return machine.available_memory() // 2
        try:
            return parse_bytes(self.memory)
        except ValueError:
            raise UserError(f"memory: {self.memory!r}: give bytes, such as 4GB, or auto") from None

    def scratch(self, dataset: Path) -> Path:
        """Return where temporary files may be: beside the dataset, unless the user says where, or may not write there."""
        return Path(self.folder) if self.folder is not None else scratch_beside(dataset)

    @property
    def used_threads(self) -> int:
        return machine.cpu_threads() if self.threads is None else self.threads

    def batches(self, items: int) -> int:
        """Return how many batches so many items make."""
        whole, rest = divmod(items, self.batch_size)
        return whole + bool(rest and not self.drop_last)
