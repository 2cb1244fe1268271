"""The manifest of a dataset folder. It is in the attributes of the folder's root ``zarr.json``."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import marius_lite
from marius_lite.errors import UserError
from marius_lite.files import check_encodable, parse_json, read_json
from marius_lite.graph.feature_types import FeatureType
from marius_lite.graph.partitioning import Partitioning

FORMAT_VERSION, GROWN, SEGMENTED, HOLED = 1, 2, 3, 4
"""Versions of the format: as preprocess writes it, with what `update` adds, with edges or names in several segments, and with
edges that were removed from files which stay as they are."""
KEY = "marius_lite"


class Source(BaseModel):
    """An input file of preprocess: its name, its size in bytes, and the crc32c of its bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    size: int
    crc32c: int


class Ancestor(BaseModel):
    """An older version of a dataset. Its nodes and relations have the same ids in all later ones, which have more of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fingerprint: str
    nodes: int
    relations: int


class Segment(BaseModel):
    """Edges of a split, or names of nodes, that were written together, when the dataset had so many ``nodes``.

    ``name``: the version that wrote them, the name of their folder or file; empty: they lie where all lie otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^([1-9][0-9]{0,8})?$")
    nodes: int


class FeatureShape(BaseModel):
    """The shape of node features: how many numbers a node has, and their type, see `feature_types`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    width: int
    dtype: FeatureType


class LabelShape(BaseModel):
    """The number of classes. A label is -1 (none) or 0 to ``classes`` - 1. With several classes a node it is a row of 0 and 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    classes: int


OPTIONAL = (
    "features",
    "edge_columns",
    "adjacency",
    "labels",
    "node_split",
    "training_partitions",
    "node_types",
    "class_names",
    "multi_label",
    "self_loops",
    "lineage",
    "segments",
    "names",
)


class Manifest(BaseModel):
    """The counts, layout and checksums of a dataset.

    ``edges``: stored edges by split. ``files``: relative path -> (size in bytes, crc32c) of every file but the root zarr.json and
    report.json. ``fingerprint``: sha256 (hex) of all other fields. Equal fingerprints mean equal data.

    These are None where the dataset has none: ``features``, ``labels``, ``adjacency`` (which directions are stored),
    ``edge_columns`` (what edges have beside src, dst and rel). ``node_split``: nodes by split; training nodes are in the first
    ``training_partitions`` partitions, which they fill unless these are all. ``node_types``: the names of nodes' types, in order.
    ``class_names``: the names of the classes, where they are not just numbers. ``multi_label``: True where a node may have any
    number of classes, see `multi_labels`. ``self_loops``: training edges from a node to itself; None in datasets of earlier
    versions. ``lineage``: the versions that `update` made this one of, the oldest first. ``segments``: by split, those of which
    its edges consist, where there are several. ``names``: the same of the nodes' names.

    Fields that are None are not stored. So datasets without them have the fingerprint of versions that did not know them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["dataset"] = "dataset"
    format_version: int = FORMAT_VERSION
    program_version: str = marius_lite.__version__
    nodes: int
    relations: int
    edges: dict[str, int]
    partitions: int
    rows_per_partition: int
    seed: int
    ids: Literal["int", "str"]
    relation_ids: Literal["int", "str"]
    options: dict[str, Any]
    features: FeatureShape | None = None
    edge_columns: tuple[Literal["weight", "time"], ...] | None = None
    adjacency: tuple[Literal["in"], ...] | None = None
    labels: LabelShape | None = None
    node_split: dict[str, int] | None = None
    training_partitions: int | None = None
    node_types: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    multi_label: Literal[True] | None = None
    self_loops: int | None = None
    lineage: tuple[Ancestor, ...] | None = None
    segments: dict[str, tuple[Segment, ...]] | None = None
    names: tuple[Segment, ...] | None = None
    sources: list[Source]
    files: dict[str, tuple[int, int]]
    fingerprint: str = ""

    @property
    def partitioning(self) -> Partitioning:
        """Which partition has which node ids."""
        return Partitioning(self.nodes, self.partitions, self.rows_per_partition)

    @property
    def carried(self) -> tuple[str, ...]:
        """What edges have beside src, dst and rel."""
        return self.edge_columns or ()

    @property
    def training(self) -> str:
        """Which partitions the training nodes are in: the ``first`` ones, or ``all`` of them."""
        return str(self.options.get("training_partitions", "first"))

    @property
    def first_nodes(self) -> int:
        """How many training nodes have the first ids; 0 where training nodes are among the others."""
        return (self.node_split or {}).get("train", 0) if self.training == "first" else 0

    def sealed(self) -> Manifest:
        """Return the manifest with its fingerprint."""
        return self.model_copy(update={"fingerprint": self._digest()})

    def _digest(self) -> str:
        rest = self._stored("fingerprint")
        return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def _stored(self, *but: str) -> dict[str, Any]:
        """Return the fields as they are stored, without those named in ``but``."""
        absent = (name for name in OPTIONAL if getattr(self, name) is None)
        return self.model_dump(mode="json", exclude={*but, *absent})

    def root_json(self) -> bytes:
        """Return the text of the dataset's root ``zarr.json``."""
        group = {"zarr_format": 3, "node_type": "group", "attributes": {KEY: self._stored()}}
        return json.dumps(group, indent=1).encode() + b"\n"


def training_partitions(node_split: dict[str, int] | None, training: str, partitioning: Partitioning) -> int | None:
    """Return how many partitions, from the first on, have training nodes; None without a split. ``training``: see
    `Manifest.training`."""
    if node_split is None:
        return None
    return partitioning.partitions if training == "all" else -(-node_split.get("train", 0) // partitioning.rows)


def read_manifest(dataset: Path) -> Manifest:
    """Read the manifest of a dataset folder. Raises UserError where there is none, or it was changed or damaged."""
    check_encodable(dataset)
    root = dataset / "zarr.json"
    if not dataset.is_dir():
        raise UserError(f"{dataset}: no such folder: give the folder that `marius-lite preprocess` wrote")
    return _manifest_of(attributes(dataset), str(dataset), str(root))


def parse_manifest(root: bytes, where: str) -> Manifest:
    """Return the manifest in the text of a root ``zarr.json``, from ``where``. Raises UserError as `read_manifest` does."""
    try:
        found = parse_json(root)["attributes"][KEY]
    except (ValueError, KeyError, TypeError):
        found = None
    return _manifest_of(found if isinstance(found, dict) else None, where, where)


def _manifest_of(found: dict[str, Any] | None, dataset: str, root: str) -> Manifest:
    redo = "make the dataset again with `marius-lite preprocess`"
    if found is None or found.get("kind") != "dataset":
        raise UserError(f"{dataset}: not a dataset: give the folder that `marius-lite preprocess` wrote")
    if found.get("format_version") not in (FORMAT_VERSION, GROWN, SEGMENTED, HOLED):
        raise UserError(
            f"{root}: format version {found.get('format_version')}, written by marius_lite "
            f"{found.get('program_version')}; this is {marius_lite.__version__}, which reads "
            f"{FORMAT_VERSION} to {HOLED}: use that version, or {redo}"
        )
    try:
        manifest = Manifest.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{root}: damaged at {'.'.join(map(str, first['loc']))}: {first['msg']}: {redo}") from error
    if manifest.sealed().fingerprint != manifest.fingerprint:
        raise UserError(f"{root}: does not match its fingerprint, it was changed: {redo}")
    return manifest


def attributes(folder: Path) -> dict[str, Any] | None:
    """Return what marius_lite wrote into a folder's root ``zarr.json``; None where it wrote nothing.

    Raises RunError where the disk fails.
    """
    try:
        found = read_json(folder / "zarr.json")["attributes"][KEY]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, dict) else None
