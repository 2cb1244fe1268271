"""What the command line of `preprocess` gives, and which of it cannot stand together."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Required, TypedDict

from marius_lite.cluster import require_ray
from marius_lite.errors import UserError
from marius_lite.files import check_encodable, check_name
from marius_lite.graph.node_columns import NODE_SPLITS
from marius_lite.preprocess.formats import AUTO, FORMATS

CHOICES = {
    "ids": ("auto", "int", "str"),
    "header": ("auto", "yes", "no"),
    "on_bad_row": ("error", "skip"),
    "adjacency": ("auto", "none", "in"),
    "partitioner": ("random", "locality", "metis"),
    "training_partitions": ("first", "all"),
    "engine": ("plain", "ray"),
    "feature_dtype": ("auto", "float32", "float16", "bfloat16", "int8"),
}
MOST_WEIGHT = 3.4028234663852886e38  # of float32


class Arguments(TypedDict, total=False):
    """The command's arguments by name, as texts or values. Those that are left out have the defaults of `Options`."""

    edges: Required[list[str]]
    database: str | None
    output: Required[str | Path]
    valid: list[str] | None
    test: list[str] | None
    split: str | None
    format: str
    ids: str
    columns: str | None
    bipartite: str | None
    edge_weight: str | None
    timestamp: str | None
    weight_default: float | None
    delimiter: str
    header: str
    comment: str
    partitions: str | int
    partitioner: str
    training_partitions: str
    memory: str | int
    seed: int
    undirected: bool
    drop_duplicates: bool
    drop_self_loops: bool
    on_bad_row: str
    overwrite: bool
    features: str | Path | None
    node_ids: str | Path | None
    adjacency: str
    feature_dtype: str
    labels: str | Path | None
    train_nodes: str | Path | None
    valid_nodes: str | Path | None
    test_nodes: str | Path | None
    node_split: str | None
    node_types: str | Path | None
    mask_split: int | None
    engine: str
    workers: int | None


def path_of(file: str | Path | None) -> Path | None:
    """Return the path of a file that may be left out."""
    return None if file is None else Path(file)


def node_lists(given: Arguments) -> dict[str, Path]:
    """Return the file of each split of nodes that has one, by the split's name."""
    files = (given.get("train_nodes"), given.get("valid_nodes"), given.get("test_nodes"))
    return {name: Path(file) for name, file in zip(NODE_SPLITS, files) if file is not None}


def check_known(given: Mapping[str, object]) -> None:
    """Refuse an option that there is not, which only a program can give."""
    for name in given:
        if name not in Arguments.__annotations__:
            near = get_close_matches(name, Arguments.__annotations__, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise UserError(f"option {name!r}: unknown: {hint}options are {', '.join(Arguments.__annotations__)}")


def check_choices(given: Arguments) -> None:
    """Refuse a value that is none of an option's choices, and a partitioner that is not installed."""
    values: Mapping[str, object] = given
    for name, allowed in {"format": (AUTO, *FORMATS), **CHOICES}.items():
        if (value := values.get(name, allowed[0])) not in allowed:
            raise UserError(f"--{name.replace('_', '-')} {value}: unknown: use one of {', '.join(allowed)}")
    if given.get("partitioner") == "metis" and find_spec("pymetis") is None:
        raise UserError(
            "--partitioner metis: needs pymetis, which is not installed: pip install 'marius-lite[metis]', or use locality"
        )
    if given.get("engine") == "ray":
        require_ray("--engine ray")


def check_together(given: Arguments) -> None:
    """Refuse options that exclude each other, and those that say something of a file that is not given."""
    features, labels, node_ids = given.get("features"), given.get("labels"), given.get("node_ids")
    if given.get("split") is not None and (given.get("valid") or given.get("test")):
        raise UserError("--split cannot stand beside --valid or --test: give files or fractions, not both")
    if node_ids is not None and features is None and labels is None:
        raise UserError(
            f"--node-ids {node_ids}: gives the node ids of the rows in a feature or label file: name that file "
            "with --features or --labels"
        )
    if given.get("feature_dtype", "auto") != "auto" and features is None:
        raise UserError(f"--feature-dtype {given['feature_dtype']}: there are no features: give their file with --features")
    lists, fractions = node_lists(given), given.get("node_split")
    if (split := given.get("mask_split")) is not None and not lists:
        raise UserError(f"--mask-split {split}: chooses a split of masks, and there are none: give them with --train-nodes FILE")
    splitting = [f"--{name}-nodes" for name in lists] + (["--node-split"] if fractions is not None else [])
    if lists and fractions is not None:
        raise UserError(f"--node-split cannot stand beside {splitting[0]}: give lists or fractions, not both")
    if splitting and labels is None:
        raise UserError(f"{splitting[0]}: splits the labelled nodes: give their classes with --labels FILE")
    if given.get("training_partitions", "first") != "first" and not splitting:
        raise UserError(
            f"--training-partitions {given['training_partitions']}: there are no training nodes: give them with --train-nodes or "
            "--node-split"
        )
    if lists and "train" not in lists:
        raise UserError(f"{splitting[0]}: nothing to learn from: give the training nodes with --train-nodes FILE")


def check_texts(given: Mapping[str, str | None]) -> None:
    """Refuse what cannot stand in files, which are UTF-8. ``given``: by option, the text that is looked for."""
    for option, text in given.items():
        try:
            (text or "").encode()
        except UnicodeEncodeError:
            raise UserError(f"{option} {text}: is not UTF-8, but files are: write it in a terminal of that encoding") from None


def check_default(weight: float | None, weights: bool) -> None:
    """Refuse a --weight-default that is no float32, or that stands where edges have no ``weights``."""
    if weight is None:
        return
    if not weights:
        raise UserError(f"--weight-default {weight:g}: edges have no weights: name their column with --edge-weight or --columns")
    if not abs(weight) <= MOST_WEIGHT:
        raise UserError(f"--weight-default {weight:g}: must be a finite float32")


def check_names(given: Arguments) -> None:
    """Refuse to go on without edges, and names of files that libraries cannot take."""
    if not given["edges"]:
        raise UserError("no edge files: name at least one")
    check_name(given["output"], "--output")
    about_nodes = given.get("features"), given.get("node_ids"), given.get("labels"), given.get("node_types")
    for file in (*about_nodes, *node_lists(given).values()):
        check_encodable(file or "no file")


def check_seed(seed: int) -> None:
    """Refuse a seed below 0."""
    if seed < 0:
        raise UserError(f"--seed {seed}: must be 0 or more")
