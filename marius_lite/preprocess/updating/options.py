"""The options of `update`, checked before anything is written: those of `preprocess` about edges, and the dataset's own."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marius_lite.errors import UserError
from marius_lite.files import check_name
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.versions import VERSIONS, dataset_of, versions
from marius_lite.preprocess.command import command_digest
from marius_lite.preprocess.options import SPLITS, Options
from marius_lite.preprocess.readers.source import find_files

RECORDED = ("undirected", "drop_duplicates", "drop_self_loops")
"""Options of the dataset that hold for its updates too."""
READING = ("columns", "edge_weight", "timestamp", "weight_default")
"""Options of the dataset that hold for an update that gives none of them."""


@dataclass(frozen=True)
class GrownOptions(Options):
    """Options of `preprocess` for a dataset that has some ``splits`` already."""

    kept: tuple[str, ...] = ()

    @property
    def splits(self) -> tuple[str, ...]:
        given = super().splits
        return tuple(name for name in SPLITS if name in self.kept or name in given)

    @property
    def text_advice(self) -> str:
        return " (ids of this dataset are integers)"


@dataclass(frozen=True)
class RemovedOptions(GrownOptions):
    """Options for files of edges that go. These go whatever their weights and times, so the files may have none."""

    @property
    def file_kinds(self) -> tuple[str, ...]:
        return ("files of edges to remove",) * len(SPLITS)

    @property
    def needs_values(self) -> bool:
        return False


@dataclass(frozen=True)
class UpdateOptions:
    """The version ``old`` of the dataset ``place`` becomes version ``number`` by the edges of ``added``, without the edges in the
    files ``removed`` names: options as `preprocess` has them, whose output is the new version's folder."""

    place: Path
    old: Dataset
    number: int
    added: GrownOptions
    removed: GrownOptions

    @classmethod
    def parse(cls, dataset: str | Path, edges: Sequence[str], remove: Sequence[str] = (), **given: Any) -> UpdateOptions:
        """Return the options that the command line gives as texts: ``given`` are options of `preprocess`. Raises UserError."""
        check_name(dataset, "DATASET")
        old = Dataset.open(dataset)
        if old.address:
            raise UserError(f"{old.address}: update the dataset on this machine, then send the new version: `marius-lite upload`")
        place = dataset_of(old.path)
        there = versions(place)
        if old.path != there[max(there)]:
            raise UserError(f"{dataset}: an older version, the newest is {max(there)}: only the newest can be updated")
        if not (edges or remove or given.get("valid") or given.get("test")):
            raise UserError("nothing to do: name files with new edges, or with edges to --remove")
        number = max(there) + 1
        options = _options(old, place / VERSIONS / str(number), [*edges, *remove], given)
        fields = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
        removed = RemovedOptions(**{**fields, "edges": tuple(remove), "valid": (), "test": (), "on_bad_row": "error"})
        return cls(place, old, number, dataclasses.replace(options, edges=tuple(edges)), removed)

    @property
    def output(self) -> Path:
        """The folder of the new version."""
        return self.added.output

    @property
    def command(self) -> str:
        """A checksum of the files as they are now, and of the options that shape the new version but for its number."""
        given = [dataclasses.replace(each, output=self.place) for each in (self.added, self.removed)]
        digests = [command_digest(each, find_files(each)) for each in given]
        return hashlib.sha256(repr((*digests, self.removed.edges)).encode()).hexdigest()


def _options(old: Dataset, output: Path, edges: list[str], given: dict[str, Any]) -> GrownOptions:
    """Return the options of `preprocess` for files of edges. What decides how they are stored is the dataset's."""
    manifest = old.manifest
    recorded: dict[str, Any] = {name: manifest.options.get(name) for name in READING}
    read_as = {name: given[name] for name in READING if given.get(name) is not None}
    options = Options.parse(
        **{name: value for name, value in given.items() if name not in READING},
        **read_as,
        edges=edges or [*(given.get("valid") or ()), *(given.get("test") or ())],
        output=output,
        ids=manifest.ids,
        seed=manifest.seed,
        adjacency=(manifest.adjacency or ("none",))[0],
        **{name: manifest.options[name] for name in RECORDED},
        bipartite=",".join(manifest.options.get("bipartite", ())) or None,
    )
    if not read_as:
        columns = recorded.pop("columns")
        recorded["columns"] = tuple(columns) if columns else None
    fields = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    return GrownOptions(**{**fields, **({} if read_as else recorded)}, kept=tuple(manifest.edges))
