"""The options of `preprocess`, checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.arguments import (
    Arguments,
    check_choices,
    check_default,
    check_known,
    check_names,
    check_seed,
    check_texts,
    check_together,
    node_lists,
    path_of,
)
from marius_lite.preprocess.columns import VALUES, check_values, parse_columns
from marius_lite.preprocess.fractions import Fractions, parse_fractions
from marius_lite.preprocess.option_texts import Kinds, parse_delimiter, parse_kinds, parse_memory, parse_partitions, parse_workers

SPLITS = ("train", "valid", "test")
NO_FIELDS = ("split", "train_nodes", "valid_nodes", "test_nodes", "node_split", "engine")
"""Arguments that are no options of this name: `Options.parse` makes others of them."""


@dataclass(frozen=True)
class Options:
    """What `preprocess` is asked for. `parse` makes it from what the command line gives.

    ``memory``: bytes that preprocess may take, libraries not counted; the dataset does not depend on it.
    ``fractions``, ``node_fractions``: (train, valid, test), summing to 1, or None. ``partitions``: None = auto.
    ``columns``: roles of the file's columns in order, or header names of source, (relation,) destination. ``bipartite``: the
    kinds that sources and destinations are of, where these are two. ``edge_weight``, ``timestamp``: the column or array with that
    name. ``weight_default``: what an empty weight stands for; None: the row is bad.
    ``delimiter``: one character, or `WHITESPACE`.
    ``node_lists``: the file of each split of nodes, by name; ``mask_split``: which column, where they are masks of several.
    ``features``, ``labels``, ``node_lists``, ``node_types``: also FILE.npz:KEY.
    ``database``: where the queries were asked, without user and password. ``workers``: of the engine ray; None: this process
    works alone. The dataset does not depend on them.
    """

    edges: tuple[str, ...]
    output: Path
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    fractions: Fractions | None = None
    format: str = "auto"
    ids: str = "auto"
    columns: tuple[str, ...] | None = None
    bipartite: Kinds | None = None
    edge_weight: str | None = None
    timestamp: str | None = None
    weight_default: float | None = None
    delimiter: str | None = None
    header: str = "auto"
    comment: str = "#"
    partitions: int | None = None
    partitioner: str = "random"
    training_partitions: str = "first"
    memory: int = 4_000_000_000
    seed: int = 0
    undirected: bool = False
    drop_duplicates: bool = False
    drop_self_loops: bool = False
    on_bad_row: str = "error"
    overwrite: bool = False
    features: Path | None = None
    node_ids: Path | None = None
    adjacency: str = "none"
    feature_dtype: str = "auto"
    labels: Path | None = None
    node_lists: Mapping[str, Path] = field(default_factory=dict)
    node_fractions: Fractions | None = None
    node_types: Path | None = None
    mask_split: int | None = None
    database: str | None = None
    workers: int | None = None

    @classmethod
    def parse(cls, **given: Unpack[Arguments]) -> Options:
        """Return the options that the command line gives as texts. Raises UserError: option, value, what is allowed."""
        check_known(given)
        weight, time = given.get("edge_weight"), given.get("timestamp")
        check_choices(given)
        check_together(given)
        check_texts(
            {
                "--columns": given.get("columns"),
                "--bipartite": given.get("bipartite"),
                "--comment": given.get("comment"),
                "--edge-weight": weight,
                "--timestamp": time,
            }
        )
        columns = parse_columns(given.get("columns"))
        check_values(columns, {"--edge-weight": weight, "--timestamp": time})
        check_default(given.get("weight_default"), weight is not None or "weight" in (columns or ()))
        check_names(given)
        check_seed(given.get("seed", 0))
        adjacency = given.get("adjacency", "auto")
        if adjacency == "auto":  # classifying nodes needs it
            adjacency = "none" if given.get("labels") is None else "in"
        parsed: dict[str, Any] = {
            "edges": tuple(map(str, given["edges"])),
            "output": Path(given["output"]),
            "valid": tuple(map(str, given.get("valid") or ())),
            "test": tuple(map(str, given.get("test") or ())),
            "fractions": parse_fractions(given.get("split"), "--split"),
            "columns": columns,
            "bipartite": parse_kinds(given.get("bipartite"), given.get("ids", "auto")),
            "delimiter": parse_delimiter(given.get("delimiter", "auto")),
            "partitions": parse_partitions(given.get("partitions", "auto")),
            "memory": parse_memory(given.get("memory", "4GB")),
            "features": path_of(given.get("features")),
            "node_ids": path_of(given.get("node_ids")),
            "labels": path_of(given.get("labels")),
            "node_types": path_of(given.get("node_types")),
            "node_lists": node_lists(given),
            "node_fractions": parse_fractions(given.get("node_split"), "--node-split"),
            "adjacency": adjacency,
            "workers": parse_workers(given.get("engine", "plain"), given.get("workers")),
        }
        taken = {*parsed, *NO_FIELDS} & Arguments.__annotations__.keys()
        as_they_are: dict[str, Any] = {name: value for name, value in given.items() if name not in taken}
        return cls(**parsed, **as_they_are)

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits the dataset will have."""
        wanted = [True, bool(self.valid), bool(self.test)]
        if self.fractions:
            wanted = [fraction > 0 for fraction in self.fractions]
        return tuple(name for name, yes in zip(SPLITS, wanted) if yes)

    @property
    def reverses_sought(self) -> bool:
        """Whether the reverses of validation and test edges are looked for in training. (Where both directions are stored, or
        edges are dealt by fractions, an edge and its reverse are in the same split.)"""
        return not self.undirected and not self.fractions

    @property
    def id_kind(self) -> IdKind | None:
        """The kind of raw ids that is asked for; None: the kind of the first file's."""
        if self.bipartite is not None:
            return "str"
        return None if self.ids == "auto" else "int" if self.ids == "int" else "str"

    @property
    def file_kinds(self) -> tuple[str, ...]:
        """What the files of each of `SPLITS` are called."""
        return tuple(f"{name} edge files" for name in SPLITS)

    @property
    def text_advice(self) -> str:
        """What else helps where an id is no integer."""
        return ", or keep ids as text with --ids str"

    @property
    def needs_values(self) -> bool:
        """Whether the columns that ``edge_weight`` and ``timestamp`` name must be there."""
        return True

    @property
    def values(self) -> tuple[str, ...]:
        """Those of `VALUES` that every edge must have."""
        named = {"weight": self.edge_weight, "time": self.timestamp}
        return tuple(role for role in VALUES if named[role] is not None or role in (self.columns or ()))

    def recorded(self) -> dict[str, Any]:
        """The options that shape the data, as the manifest keeps them."""
        return {
            "split": self.fractions,
            "columns": self.columns,
            "undirected": self.undirected,
            "drop_duplicates": self.drop_duplicates,
            "drop_self_loops": self.drop_self_loops,
            "on_bad_row": self.on_bad_row,
            **({"bipartite": self.bipartite} if self.bipartite is not None else {}),
            **({"edge_weight": self.edge_weight} if self.edge_weight is not None else {}),
            **({"weight_default": self.weight_default} if self.weight_default is not None else {}),
            **({"timestamp": self.timestamp} if self.timestamp is not None else {}),
            **({"partitioner": self.partitioner} if self.partitioner != "random" else {}),
            **({"training_partitions": self.training_partitions} if self.training_partitions != "first" else {}),
            **({"feature_dtype": self.feature_dtype} if self.feature_dtype != "auto" else {}),
            **({"node_split": self.node_fractions} if self.node_fractions else {}),
            **({"mask_split": self.mask_split} if self.mask_split is not None else {}),
            **({"database": self.database} if self.database is not None else {}),
        }
