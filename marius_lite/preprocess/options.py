"""What the user asked for, checked before anything is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from marius_lite.errors import UserError
from marius_lite.files import check_encodable, check_name, parse_bytes
from marius_lite.graph.ids import IdKind
from marius_lite.preprocess.formats import AUTO, FORMATS

SPLITS = ("train", "valid", "test")
ROLES = ("src", "rel", "dst")
VALUES = ("weight", "time")  # what an edge may carry beside its ids
COLUMN_ROLES = ROLES + VALUES
IGNORE = "_"
WHITESPACE = "whitespace"
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "space": " ", "semicolon": ";", "pipe": "|"}
CHOICES = {
    "ids": ("auto", "int", "str"),
    "header": ("auto", "yes", "no"),
    "on_bad_row": ("error", "skip"),
    "adjacency": ("auto", "none", "in"),
    "partitioner": ("random", "locality", "metis"),
    "feature_dtype": ("auto", "float32", "float16", "bfloat16", "int8"),
}
LEAST_MEMORY = 1 << 20
MOST_WEIGHT = 3.4028234663852886e38  # of float32


@dataclass(frozen=True)
class Options:
    """Normalised options of `preprocess`; `parse` makes them from what the command line gives.

    ``memory`` in bytes bounds what preprocess takes, but for what libraries do; the dataset does not depend on it.
    ``fractions``, ``node_fractions``: (train, valid, test), summing to 1, or None. ``partitions``: None = auto.
    ``columns``: roles of the file's columns in order, or header names of source, (relation,) destination. ``edge_weight``,
    ``timestamp``: the column or array with that name. ``weight_default``: what an empty weight stands for; None: for a bad row.
    ``delimiter``: one character, or `WHITESPACE`.
    ``node_lists``: the file of each split of nodes, by name; ``mask_split``: which column, where they are masks of several.
    ``features``, ``labels``, ``node_lists``, ``node_types``: also FILE.npz:KEY.
    """

    edges: tuple[str, ...]
    output: Path
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    fractions: tuple[float, float, float] | None = None
    format: str = "auto"
    ids: str = "auto"
    columns: tuple[str, ...] | None = None
    edge_weight: str | None = None
    timestamp: str | None = None
    weight_default: float | None = None
    delimiter: str | None = None
    header: str = "auto"
    comment: str = "#"
    partitions: int | None = None
    partitioner: str = "random"
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
    node_fractions: tuple[float, float, float] | None = None
    node_types: Path | None = None
    mask_split: int | None = None

    @classmethod
    def parse(cls, *, edges: list[str], output: str | Path, valid: list[str] | None = None,
              test: list[str] | None = None, split: str | None = None, columns: str | None = None,
              delimiter: str = "auto", partitions: str | int = "auto", memory: str | int = "4GB",
              features: str | Path | None = None, node_ids: str | Path | None = None, labels: str | Path | None = None,
              train_nodes: str | Path | None = None, valid_nodes: str | Path | None = None,
              test_nodes: str | Path | None = None, node_split: str | None = None, node_types: str | Path | None = None,
              **same: Any) -> Options:
        """Options from the command line's texts. Raises UserError: option, value, what is allowed."""
        for name, allowed in {"format": (AUTO, *FORMATS), **CHOICES}.items():
            if same.get(name, allowed[0]) not in allowed:
                raise UserError(
                    f"--{name.replace('_', '-')} {same[name]}: unknown: use one of {', '.join(allowed)}"
                )
        if same.get("partitioner") == "metis" and find_spec("pymetis") is None:
            raise UserError("--partitioner metis: needs pymetis, which is not installed: pip install 'marius-lite[metis]', or "
                            "use locality")
        if split is not None and (valid or test):
            raise UserError(
                "--split cannot stand beside --valid or --test: give files or fractions, not both"
            )
        if node_ids is not None and features is None and labels is None:
            raise UserError(f"--node-ids {node_ids}: gives the node ids of the rows in a feature or label file: name that file "
                            "with --features or --labels")
        if same.get("feature_dtype", "auto") != "auto" and features is None:
            raise UserError(f"--feature-dtype {same['feature_dtype']}: there are no features: give their file with --features")
        node_lists = {name: Path(file) for name, file in zip(SPLITS, (train_nodes, valid_nodes, test_nodes)) if file is not None}
        _check_node_sets(node_lists, node_split, labels is not None)
        _check_texts({"--columns": columns, "--comment": same.get("comment"), "--edge-weight": same.get("edge_weight"),
                      "--timestamp": same.get("timestamp")})
        names = _columns(columns)
        _check_values(names, {"--edge-weight": same.get("edge_weight"), "--timestamp": same.get("timestamp")})
        _check_default(same.get("weight_default"), same.get("edge_weight") is not None or "weight" in (names or ()))
        if not edges:
            raise UserError("no edge files: name at least one")
        check_name(output, "--output")
        for file in (features, node_ids, labels, node_types, *node_lists.values()):
            check_encodable(file or "no file")
        if same.get("seed", 0) < 0:
            raise UserError(f"--seed {same['seed']}: must be 0 or more")
        if same.get("adjacency", "auto") == "auto":  # classifying nodes needs it
            same["adjacency"] = "none" if labels is None else "in"
        return cls(
            edges=tuple(map(str, edges)),
            output=Path(output),
            valid=tuple(map(str, valid or ())),
            test=tuple(map(str, test or ())),
            fractions=_fractions(split, "--split"),
            columns=names,
            delimiter=_delimiter(delimiter),
            partitions=parse_partitions(partitions),
            memory=parse_memory(memory),
            features=None if features is None else Path(features),
            node_ids=None if node_ids is None else Path(node_ids),
            labels=None if labels is None else Path(labels),
            node_lists=node_lists,
            node_fractions=_fractions(node_split, "--node-split"),
            node_types=None if node_types is None else Path(node_types),
            **same,
        )

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits the dataset will have."""
        there = [True, bool(self.valid), bool(self.test)]
        if self.fractions:
            there = [fraction > 0 for fraction in self.fractions]
        return tuple(name for name, yes in zip(SPLITS, there) if yes)

    @property
    def reverses_sought(self) -> bool:
        """Whether edges given for validation and test are looked for in training the other way round, too. (Where both directions
        are stored, or edges are dealt, an edge and its reverse are in the same split.)"""
        return not self.undirected and not self.fractions

    @property
    def id_kind(self) -> IdKind | None:
        """What raw ids are, as asked; None: as in the first file."""
        return None if self.ids == "auto" else "int" if self.ids == "int" else "str"

    @property
    def values(self) -> tuple[str, ...]:
        """Which of `VALUES` every edge must have."""
        named = {"weight": self.edge_weight, "time": self.timestamp}
        return tuple(role for role in VALUES if named[role] is not None or role in (self.columns or ()))

    def recorded(self) -> dict[str, Any]:
        """What the manifest keeps: the options that shape the data."""
        return {
            "split": self.fractions,
            "columns": self.columns,
            "undirected": self.undirected,
            "drop_duplicates": self.drop_duplicates,
            "drop_self_loops": self.drop_self_loops,
            "on_bad_row": self.on_bad_row,
            **({"edge_weight": self.edge_weight} if self.edge_weight is not None else {}),
            **({"weight_default": self.weight_default} if self.weight_default is not None else {}),
            **({"timestamp": self.timestamp} if self.timestamp is not None else {}),
            **({"partitioner": self.partitioner} if self.partitioner != "random" else {}),
            **({"feature_dtype": self.feature_dtype} if self.feature_dtype != "auto" else {}),
            **({"node_split": self.node_fractions} if self.node_fractions else {}),
            **({"mask_split": self.mask_split} if self.mask_split is not None else {}),
        }


def _check_node_sets(lists: Mapping[str, Path], fractions: str | None, labels: bool) -> None:
    given = [f"--{name}-nodes" for name in lists] + (["--node-split"] if fractions is not None else [])
    if lists and fractions is not None:
        raise UserError(f"--node-split cannot stand beside {given[0]}: give lists or fractions, not both")
    if given and not labels:
        raise UserError(f"{given[0]}: splits the labelled nodes: give their classes with --labels FILE")
    if lists and "train" not in lists:
        raise UserError(f"{given[0]}: nothing to learn from: give the training nodes with --train-nodes FILE")


def split_bounds(fractions: tuple[float, float, float]) -> tuple[int, int]:
    """Where train ends and where valid ends among 63-bit hashes."""
    train, valid, test = fractions
    whole = 1 << 63
    first = int(train * whole) if valid or test else whole
    return first, (int((train + valid) * whole) if test else whole)


def _fractions(text: str | None, option: str) -> tuple[float, float, float] | None:
    if text is None:
        return None
    try:
        train, valid, test = (float(part) for part in text.split(","))
    except ValueError:
        raise UserError(
            f"{option} {text}: write three fractions for train, valid and test, for example 0.9,0.05,0.05"
        ) from None
    parts = (train, valid, test)
    if not all(math.isfinite(part) and part >= 0 for part in parts) or train <= 0:
        raise UserError(
            f"{option} {text}: no fraction may be negative and train must be above 0, for example "
            "0.9,0.05,0.05"
        )
    if abs(sum(parts) - 1) > 1e-6:
        raise UserError(
            f"{option} {text}: the fractions sum to {sum(parts):g}: they must sum to 1, for example "
            "0.9,0.05,0.05"
        )
    return parts


def _columns(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(part.strip() for part in text.split(","))
    used = [name for name in names if name != IGNORE]
    advice = ("write src,dst or src,rel,dst in the order of the file's columns (also weight and time; _ for one to ignore), or "
              "header names in that role order")
    if len(set(used)) != len(used):
        raise UserError(f"--columns {text}: a name stands twice: {advice}")
    roles = [name for name in used if name in COLUMN_ROLES]
    ids = [name for name in used if name not in VALUES]
    if roles and len(roles) != len(used):
        raise UserError(f"--columns {text}: mixes roles with other names: {advice}"
                        + ("; beside header names use --edge-weight and --timestamp" if set(roles) <= {*VALUES} else ""))
    if len(ids) not in (2, 3) or not all(names):
        raise UserError(f"--columns {text}: names {len(ids)} columns of ids, 2 or 3 are needed: {advice}")
    if roles and not {"src", "dst"} <= set(roles):
        raise UserError(f"--columns {text}: src and dst are both needed: {advice}")
    if not roles and IGNORE in names:
        raise UserError(f"--columns {text}: _ is for columns given by position: {advice}")
    return names


def _check_values(columns: tuple[str, ...] | None, given: Mapping[str, str | None]) -> None:
    """``given``: option and column of each value."""
    names = [name for name in given.values() if name is not None]
    for (option, name), role in zip(given.items(), VALUES):
        if name is None:
            continue
        if not name:
            raise UserError(f"{option} '': must be the name of a column")
        if columns is not None and role in columns:
            raise UserError(f"{option} {name}: --columns {','.join(columns)} has the role {role} too: give one of the two")
        if names.count(name) > 1 or (columns is not None and name in columns):
            raise UserError(f"{option} {name}: this column has another role too: each may have one")


def _check_default(weight: float | None, weights: bool) -> None:
    if weight is None:
        return
    if not weights:
        raise UserError(f"--weight-default {weight:g}: edges have no weights: name their column with --edge-weight or --columns")
    if not abs(weight) <= MOST_WEIGHT:
        raise UserError(f"--weight-default {weight:g}: must be a finite float32")


def _check_texts(given: Mapping[str, str | None]) -> None:
    """What is looked for in files, which are UTF-8."""
    for option, text in given.items():
        try:
            (text or "").encode()
        except UnicodeEncodeError:
            raise UserError(f"{option} {text}: is not UTF-8, but files are: write it in a terminal of that encoding") from None


def _delimiter(text: str) -> str | None:
    if text == "auto":
        return None
    if text == WHITESPACE:
        return text
    found = DELIMITER_NAMES.get(text, text)
    if len(found) != 1 or found in '\r\n"' or not found.isascii():
        raise UserError(
            f"--delimiter {text!r}: must be auto, one ASCII character, or one of tab, comma, space, "
            "semicolon, pipe, whitespace"
        )
    return found


def parse_partitions(value: str | int) -> int | None:
    """None for auto."""
    if value == "auto":
        return None
    try:
        number = int(value)
    except ValueError:
        number = 0
    if not 1 <= number <= 1024:
        raise UserError(f"--partitions {value}: must be auto or a whole number from 1 to 1024")
    return number


def parse_memory(value: str | int) -> int:
    """Bytes."""
    try:
        number = parse_bytes(value)
    except ValueError as error:
        raise UserError(f"--memory: {error}") from None
    if number < LEAST_MEMORY:
        raise UserError(f"--memory {value}: must be at least 1MiB, for example 4GB")
    return number
