"""Choose over how many hops nodes see others, by what linear models say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from marius_lite.config import presets
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.feature_sample import sampled
from marius_lite.graph.hops import HARDLY_WRONG
from marius_lite.graph.linear_shares import Tried
from marius_lite.graph.linear_test import clear
from marius_lite.graph.node_defaults import NORMALIZE, SHOWN_SO, patience_of_sgc, section
from marius_lite.log import log

APART = ["model.gcn_norm=mean", "model.norm=batch", "training.method=layerwise"]
"""How sign sees each hop apart from the others. What it makes of one is as large as what it makes of another."""


def may_take_more_hops(over: Mapping[str, Any], seen: Tried) -> bool:
    """Return whether more than two hops are clearly better, and what is given fits them."""
    model = section(over, "model")
    own = {*SHOWN_SO, "directions", "degree_unit"}.issuperset(model) and not model.get("degree_unit")
    own = own and "method" not in section(over, "training")
    fits = own and "sampling" not in over and "scale" not in over and not seen.several
    return fits and seen.hops > 2 and not seen.better_counted


def more_hops(dataset: Dataset, file: str, over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return settings for more than two hops, where linear models are clearly better with them. Hops have no weights then (SGC).

    There is no dropout: it would hide what is small in sums over many neighbours for hundreds of epochs. Columns of counts are
    standardised, as linear models see them: divided by their row's sum and summed over many neighbours, they are so small that
    nothing is learned for as long. Nothing is returned where what is given might not fit them, and where nodes have several
    classes (see `Tried.several`).
    """
    if file != presets.PREFIX + "gcn" or not may_take_more_hops(over, seen):
        return []
    far, near = seen.mixed[seen.hops - 1], seen.mixed[1]
    dropout = [] if "dropout" in section(over, "model") else ["model.dropout=0"]
    sums = (
        "normalize_features" not in section(over, "model") and dataset.features is not None and sampled(dataset.features).counts
    )
    columns = [f"{NORMALIZE}=columns"] if sums else []
    settings = ["model.encoder=sgc", f"model.hops={seen.hops}", "training.method=layerwise", *dropout, *columns]
    log.info(
        f"{', '.join(settings)}, because {seen.told(far)} after {seen.hops} hops, and {seen.shown(near)} after two; "
        "--set model.encoder=gcn takes GCN of two hops"
    )
    return [*settings, *patience_of_sgc(over)]


def by_itself(file: str, over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return settings for a network that sees a node's own features alone, where linear models tell nearly all classes by these
    and neighbours add nothing: an encoder that takes from neighbours has to learn to leave them out."""
    model = section(over, "model")
    given = {*SHOWN_SO, "directions", "weight_unit"}.issuperset(model) and "method" not in section(over, "training")
    open_ = given and not {"sampling", "scale"} & over.keys() and not seen.several and not seen.rare
    others = max(seen.by_features, 0.0, *((seen.placed.alone, seen.placed.beside) if seen.placed else ()))
    if (
        file != presets.PREFIX + "sage"
        or not open_
        or not seen.unlike
        or seen.own < HARDLY_WRONG
        or clear(others, seen.own, seen.asked)
    ):
        return []
    shown = [] if "normalize_features" in model else [f"{NORMALIZE}={'logs' if seen.logs else 'columns'}"]
    settings = ["model.encoder=sgc", "model.hops=0", "training.method=layerwise", *shown]
    log.info(
        f"{', '.join(settings)}, because {seen.told(seen.own)} by their own features, and {seen.shown(others)} with those of "
        "neighbours; --set model.encoder=sage takes these too"
    )
    return [*settings, *patience_of_sgc(over)]


def by_depth(dataset: Dataset, file: str, over: Mapping[str, Any], seen: Tried, chosen: Sequence[str]) -> list[str]:
    """Return settings for more than two hops, where linear models are clearly better that see more, each hop apart.

    In large graphs a batch's neighbourhoods of so many hops are most of the graph. All nodes take from their neighbours once
    there, before anything is learned (SIGN), unless an encoder of relations was ``chosen``.
    """
    given = {*SHOWN_SO, "directions", "degree_unit", "weight_unit"}.issuperset(section(over, "model"))
    other = "fanouts" in section(over, "sampling") or "method" in section(over, "training")
    if file != presets.PREFIX + "sage" or seen.depth == 2 or not given or other:
        return []
    layers = presets.read("sage", None)["model"]["layers"] * (seen.depth - 1)
    why = f"{seen.told(max(seen.far))} by neighbours of {seen.depth} hops, each hop apart, and {seen.shown(seen.near)} without"
    large = dataset.manifest.nodes > presets.FEW_NODES and "model.encoder=rgcn" not in chosen
    if not large or seen.several or "degree_unit" in section(over, "model") or {"sampling", "scale"} & over.keys():
        log.info(f"model.layers={layers}, because {why}; --set model.layers={layers[:1]} takes two hops, and less time")
        return [f"model.layers={layers}"]
    settings = ["model.encoder=sign", f"model.hops={seen.depth}", *APART]
    log.info(
        f"{', '.join(settings)}, because {why}: hops are taken once, before anything is learned; --set model.encoder=sage "
        f"--set 'model.layers={layers}' draws neighbours for each batch, which takes far longer in large graphs"
    )
    return settings
