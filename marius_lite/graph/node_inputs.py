"""Change what an encoder is shown of nodes: learned rows, logarithms, how many neighbours they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from marius_lite.config import presets
from marius_lite.config.inputs import FIRST_HOPS
from marius_lite.config.model_sections import MOST_FIRST_HOPS, PROPAGATING
from marius_lite.graph.bare_degrees import counted_rows
from marius_lite.graph.bare_nodes import ApartRows, apart_rows
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.feature_sample import sampled
from marius_lite.graph.known_shares import known_beside_rows
from marius_lite.graph.linear_shares import Tried, shown, told
from marius_lite.graph.linear_test import SHRINKAGES, clear
from marius_lite.graph.node_defaults import NORMALIZE, SHOWN_SO, memory_of, section
from marius_lite.graph.symmetry import directions
from marius_lite.graph.weight_unit import unit_of
from marius_lite.log import log

SHOWN = 10
"""Columns that a line names at most."""
FIRST_ROWS = "linear models of first rows"
FEW_NUMBERS = 4
"""Numbers of a learned row where rows say nothing beside how many neighbours nodes have."""


def may_see_degrees(over: Mapping[str, Any]) -> bool:
    """Return whether what is given leaves open that an encoder sees how many neighbours a node has."""
    model = section(over, "model")
    other = ":" in str(model.get("encoder", "")) or model.get("encoder") in ("none", *PROPAGATING) or model.get("reversible")
    return not other and "degree_unit" not in model and "method" not in section(over, "training")


def may_see_known(dataset: Dataset, over: Mapping[str, Any]) -> bool:
    """Return whether what is given leaves open that an encoder sees which training nodes are of which class."""
    given, trained = section(over, "training"), dataset.node_counts.get("train", 0)
    size = given.get("batch_size", 1)
    model = {*SHOWN_SO, "layers", "directions", "degree_unit", "weight_unit"}.issuperset(section(over, "model"))
    return model and "method" not in given and "ranks" not in section(over, "scale") and isinstance(size, int) and size < trained


def by_known(over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return the settings that let an encoder see which training nodes are of which class, where linear models are clearly better
    so."""
    known = seen.known
    if known is None or not seen.better_known:
        return []
    settings, ends = ["model.known_classes=true"], known.directions
    settings += ["model.encoder=rgcn"] if known.apart else []
    settings += [f"model.directions={ends}"] if ends != "in" and "directions" not in section(over, "model") else []
    apart = ", those of each relation and direction apart," if known.apart else ""
    log.info(
        f"{', '.join(settings)}, because {seen.told(known.share)} by which of their neighbours{apart} are training nodes of "
        f"which class, and {seen.shown(known.without)} by the same without; --set model.known_classes=false does not show it"
    )
    return settings


def by_degree(over: Mapping[str, Any], seen: Tried, chosen: Sequence[str]) -> list[str]:
    """Return the settings that show an encoder how many neighbours a node has, where linear models are clearly better so, or
    classes are rare and they are not worse.

    ``chosen``: what was chosen before; layers that are fitted one after another do not see it.
    """
    related = "model.encoder=rgcn" in chosen and not seen.several
    better = seen.better_related_counted if related else seen.better_counted
    if not better or seen.counted is None or not may_see_degrees(over) or "training.method=layerwise" in chosen:
        return []
    if related and seen.related_counted is not None:
        (share, unit), without = seen.related_counted, seen.related or 0.0
    else:
        share, unit, without = seen.counted.best_counted, seen.counted.neighbours, seen.uncounted
    model, settings = section(over, "model"), [f"model.degree_unit={unit:.3g}"]
    both = "model.directions=both" in (*chosen, f"model.directions={model.get('directions')}")
    settings += ["model.degrees_apart=true"] if both and "degrees_apart" not in model else []
    ranked = seen.rare or seen.several
    log.info(
        f"{', '.join(settings)}, because {told(share, ranked, precise=seen.precise)} where they see how many neighbours a node "
        f"has, and {shown(without, ranked)} without{seen.in_doubt(share, without)}; --set model.degree_unit=0 does not show it"
    )
    return settings


def by_tails(dataset: Dataset, over: Mapping[str, Any], seen: Tried | None, chosen: Sequence[str]) -> list[str]:
    """Return the setting that takes logarithms of columns with long tails, where linear models are clearly better so, and of
    graphs that are too large for these."""
    if dataset.features is None or _settles_normalization(over, chosen):
        return []
    sample = sampled(dataset.features)
    if not sample.tailed or (seen is not None and not seen.logs):
        return []
    tailed = np.flatnonzero(sample.units).tolist()
    log.info(
        f"{NORMALIZE}=logs, because {_columns(tailed)} have a few numbers that are far larger than the "
        f"others: their logarithms are taken, then each column gets mean 0 and standard deviation 1; --set {NORMALIZE}=columns "
        "takes numbers as they are"
    )
    return [f"{NORMALIZE}=logs"]


def by_counts(file: str, over: Mapping[str, Any], seen: Tried, chosen: Sequence[str]) -> list[str]:
    """Return the setting that standardises columns of counts, where linear models are best with little shrinkage.

    Counts divided by their row's sum are so small that weights must be large, which weight decay keeps them from: that is strong
    shrinkage. It is best where few nodes are trained beside many columns, and hides all else.
    """
    if file != presets.PREFIX + "gcn" or _settles_normalization(over, chosen) or seen.shrinkage in (None, SHRINKAGES[-1]):
        return []
    log.info(
        f"{NORMALIZE}=columns, because linear models of the features, which are counts, are best with little shrinkage: divided "
        f"by their sum they would be too small beside weight decay; --set {NORMALIZE}=true divides them"
    )
    return [f"{NORMALIZE}=columns"]


def by_codes(over: Mapping[str, Any], seen: Tried, chosen: Sequence[str]) -> list[str]:
    """Return the setting that shows a 0 or 1 for each code of columns, where linear models are clearly better so."""
    if not seen.codes or "codes" in section(over, "model") or _learned_alone(over, chosen):
        return []
    log.info(
        f"model.codes, because linear models are clearly better where the whole numbers of {_columns(seen.codes)} are codes of "
        "kinds: a node has a 0 or 1 for each; --set model.codes={} takes them for amounts"
    )
    return [f"model.codes={ {column: list(codes) for column, codes in seen.codes.items()} }"]


def say_codes(dataset: Dataset, over: Mapping[str, Any]) -> None:
    """Say that columns of codes tell a network little, where it is not tried: it takes their numbers for amounts."""
    if dataset.features is None or "codes" in section(over, "model") or _learned_alone(over, []):
        return
    if codes := sampled(dataset.features).codes:
        log.info(
            f"{_columns(codes)} have few different whole numbers: if these are codes of kinds, --set 'model.codes={{COLUMN: "
            "[CODE, ...], ...}' gives a node a 0 or 1 for each, because a code's size means nothing"
        )


def _settles_normalization(over: Mapping[str, Any], chosen: Sequence[str]) -> bool:
    """Return whether it is said how features are normalized, or they are not seen."""
    said = "normalize_features" in section(over, "model") or any(NORMALIZE in each for each in chosen)
    return said or _learned_alone(over, chosen)


def _learned_alone(over: Mapping[str, Any], chosen: Sequence[str]) -> bool:
    """Return whether features are not seen."""
    model = section(over, "model")
    return model.get("encoder") == "none" or "model.inputs=embeddings" in (*chosen, f"model.inputs={model.get('inputs')}")


def _columns(columns: Iterable[int]) -> str:
    numbers = list(columns)
    return f"columns of the features (from 0: {', '.join(map(str, numbers[:SHOWN]))}{' ...' if len(numbers) > SHOWN else ''})"


def by_place(over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return settings that let an encoder begin with learned rows, where linear models are far better by where nodes are in the
    graph than by features: communities that features tell little of."""
    model, inputs = section(over, "model"), seen.better_inputs
    other = ":" in str(model.get("encoder", "")) or model.get("encoder") in ("none", *PROPAGATING)
    set_so = {"inputs", "degree_unit", "normalize_features", "directions"}
    taken = set_so.intersection(model) or "method" in section(over, "training")
    if inputs is None or seen.placed is None or other or taken:
        return []
    share = seen.placed.alone if inputs == "embeddings" else seen.placed.beside
    rows = [f"init.hops={FIRST_HOPS}"] if inputs == "both" and "hops" not in section(over, "init") else []
    turned = [f"model.directions={seen.placed.directions}"] if inputs == "both" and seen.placed.directions != "in" else []
    also = " and by features" if inputs == "both" else ""
    settings = [f"model.inputs={inputs}", *rows, *turned]
    log.info(
        f"{', '.join(settings)}, because {seen.told(share)} by where these are in the graph{also}, and "
        f"{seen.shown(seen.by_features)} by features alone; --set model.inputs=features takes these"
    )
    return settings


def by_ends(dataset: Dataset, over: Mapping[str, Any]) -> list[str]:
    """Return settings that tell a node from its neighbours, and these by relation and end, where linear models of first rows are
    clearly better so: for nodes with classes and no features."""
    model, given = section(over, "model"), {*section(over, "model"), *section(over, "training"), *section(over, "init")}
    settled = not {*SHOWN_SO, "dim", "layers", "encoder"}.issuperset(model) or {"method", "hops", "by_turns"} & given
    if settled or model.get("encoder", "rgcn") != "rgcn":
        return []
    ends = ["in"] if directions(dataset).undirected else ["in", "out"]
    found = apart_rows(dataset, ends, unit_of, FIRST_HOPS, MOST_FIRST_HOPS, memory_of(over))
    if known := _known_apart(dataset, over, ends, found):
        return known
    if found is None:
        return []
    settings = [
        *(["model.encoder=rgcn"] if found.by_kind else []),
        *(["model.directions=both"] if len(ends) > 1 else []),
        *(["init.by_turns=true"] if found.by_turns else []),
        f"init.hops={found.hops}",
    ]
    kinds = "each relation and each direction" if dataset.manifest.relations > 1 else "each direction"
    apart = f" and those of {kinds} from each other" if found.by_kind else ""
    log.info(
        f"{', '.join(settings)}, because {told(found.share, found.rare, FIRST_ROWS)} where neighbours are apart from the node"
        f"{apart}, and {shown(found.before, found.rare)} by rows mixed with theirs; `--config preset:gcn` mixes them"
    )
    return settings


def _known_apart(dataset: Dataset, over: Mapping[str, Any], ends: Sequence[str], found: ApartRows | None) -> list[str]:
    """Return settings that show which training nodes are of which class, where linear models of nodes without features are
    clearly better so than by what was ``found``, neighbours of each relation and at either end of ``ends`` apart. Of neighbours
    whatever their relation learned rows tell as much."""
    if dataset.manifest.relations * len(ends) == 1 or not may_see_known(dataset, over):
        return []
    known = known_beside_rows(dataset, "both" if len(ends) > 1 else ends[0], FIRST_HOPS, memory_of(over))
    before = max(known.without, found.share if found else 0) if known else 0
    if known is None or not known.apart or not clear(known.share, before, known.asked):
        return []
    settings = ["model.known_classes=true", "model.encoder=rgcn", f"init.hops={FIRST_HOPS}"]
    settings += ["model.directions=both"] if len(ends) > 1 else []
    log.info(
        f"{', '.join(settings)}, because {told(known.share, known.rare, FIRST_ROWS)} by which neighbours, of each relation and "
        f"direction apart, are training nodes of which class, and {shown(before, known.rare)} without; "
        "--set model.known_classes=false does not show it"
    )
    return settings


def by_number(dataset: Dataset, over: Mapping[str, Any]) -> list[str]:
    """Return settings that show an encoder how many neighbours a node has, where linear models of first rows are clearly better
    so: for nodes with classes and no features."""
    model = section(over, "model")
    other = "method" in section(over, "training") or "hops" in section(over, "init")
    if other or not {*SHOWN_SO, "dim", "layers"}.issuperset(model):
        return []
    ends = "in" if directions(dataset).undirected else "both"
    found = counted_rows(dataset, ends, unit_of, FIRST_HOPS, memory_of(over))
    if found is None:
        return []
    settings = [f"model.degree_unit={found.neighbours:.3g}", *([f"model.directions={ends}"] if ends != "in" else [])]
    settings += [f"model.dim={FEW_NUMBERS}"] if found.tell_all and "dim" not in model else []
    told_so = told(max(found.share, found.alone), found.rare, FIRST_ROWS)
    log.info(
        f"{', '.join(settings)}, because {told_so} where they see how many neighbours a node has, and "
        f"{shown(found.before, found.rare)} without; `--config preset:gcn` does not show it"
    )
    return settings
