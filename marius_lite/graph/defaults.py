"""Choose a configuration where none is given: the preset that suits the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from marius_lite.config import machine, presets
from marius_lite.config.load import load, settings
from marius_lite.config.schema import Config
from marius_lite.config.tasks import TASKS
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.hops import tried
from marius_lite.graph.likeness import likeness
from marius_lite.graph.linear_shares import Tried
from marius_lite.graph.link_steps import link_steps
from marius_lite.graph.node_defaults import (
    UPDATES,
    all_neighbours,
    by_directions,
    by_rarity,
    by_relation,
    by_several,
    by_weight,
    memory_of,
    node_settings,
    some_neighbours,
)
from marius_lite.graph.node_depth import by_depth, by_itself, may_take_more_hops, more_hops
from marius_lite.graph.node_inputs import (
    by_codes,
    by_counts,
    by_degree,
    by_ends,
    by_known,
    by_number,
    by_place,
    by_tails,
    may_see_degrees,
    may_see_known,
    say_codes,
)
from marius_lite.graph.symmetry import DIRECTIONS, directions
from marius_lite.graph.weight_unit import unit_of
from marius_lite.log import log

DECODER = "model.decoder="
MOST_KNOWN = 10_000_000
"""Nodes of which `likeness` asks who is of which class, at most."""
FOR_NODES = [presets.PREFIX + name for name in UPDATES]
PLAIN_LINKS = [presets.PREFIX + name for name in ("social", "kg-large")]
"""The presets for graphs of one relation."""
WITHOUT_BIASES = presets.PREFIX + "kg-large"
"""The one of them whose nodes have no biases."""


def config_for(dataset: Dataset, file: Path | str | None, sets: Sequence[str] = ()) -> Config:
    """Load a configuration. Where no ``file`` is given, it is the preset that suits the dataset. The log says which, and why.

    ``sets`` change settings of the preset. Where they choose a task or an encoder, it is one that suits these too.
    """
    file, suited = suitable(dataset, file, sets)
    config = load(file, suited)
    if str(file) == WITHOUT_BIASES and dataset.manifest.relations <= 1 and not config.model.biases:
        log.warning(
            f"{WITHOUT_BIASES} has no biases (model.biases): where links follow little but the popularity of nodes, its "
            f"figures are below those of popularity alone: compare {presets.PREFIX}social, with fewer numbers a node (model.dim)"
        )
    return config


def suitable(dataset: Dataset, file: Path | str | None, sets: Sequence[str]) -> tuple[Path | str | None, list[str]]:
    """Return the file that `config_for` loads, and all settings: those that suit the dataset, then ``sets``."""
    over, hops = settings(sets), list[str]()
    if file is None:
        file, hops = _suitable_preset(dataset, over)
    elif str(file) in FOR_NODES:
        say_codes(dataset, over)
    others = node_settings(dataset, str(file), presets.merged(over, settings(hops)))
    return file, [*_decoder(dataset, file, over), *others, *hops, *sets]


def _suitable_preset(dataset: Dataset, over: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """Return the preset that suits a dataset, and what linear models say beside it."""
    memory = memory_of(over)
    nodes = over.get("task") in (None, presets.NODES)
    shown = may_see_degrees(over), may_see_known(dataset, over)
    seen = linear_models(dataset, _chosen(over, "directions"), *shown, memory) if nodes else None
    hops = by_place(over, seen) if seen is not None else []
    apart = by_ends(dataset, over) or by_number(dataset, over) if nodes and _bare(dataset, over) else []
    file = _preset(dataset, over, seen, hops, apart=bool(apart))
    if seen is not None:
        known = by_known(over, seen)
        hops = hops or known or by_itself(str(file), over, seen)
        if known:
            hops += by_weight(over, seen) + by_degree(over, seen, hops)
        elif not hops:
            hops = by_relation(over, seen) or [*more_hops(dataset, str(file), over, seen), *by_directions(over, seen)]
            hops += by_depth(dataset, str(file), over, seen, hops)
            hops += [] if "model.encoder=rgcn" in hops else by_weight(over, seen)
            hops += by_degree(over, seen, hops)
        hops += [*by_rarity(over, seen), *by_codes(over, seen, hops), *by_counts(str(file), over, seen, hops)]
        hops += by_several(dataset, str(file), over, seen)
    hops += apart
    if str(file) in FOR_NODES:
        hops += by_tails(dataset, over, seen, hops)
        merged = presets.merged(over, settings(hops))
        hops += some_neighbours(dataset, str(file), merged)
        if seen is None:
            say_codes(dataset, over)
        else:
            hops += all_neighbours(str(file), merged, seen)
    return file, hops


def _preset(dataset: Dataset, over: Mapping[str, Any], seen: Tried | None, placed: Sequence[str], apart: bool) -> str | None:
    """Return the preset that suits the dataset and what ``over`` chooses. None where that is no task: `load` says so.

    ``placed``: settings by which nodes with features have learned rows, see `by_place`; alone, they are mixed with neighbours'.
    ``apart``: whether nodes without features are better told from their neighbours, or by their number: `by_ends`, `by_number`.
    """
    shape = replace(shape_of(dataset, over, seen), placed=bool(placed))
    shape = replace(shape, unlike="model.inputs=embeddings" not in placed and (shape.unlike or apart))
    task = over.get("task", shape.task)
    if task not in list(TASKS):
        return None
    name, why = presets.suitable(shape, task)
    if task != shape.task:
        why += f"; `task` is {task}, though the dataset suggests {shape.task}"
    file = presets.PREFIX + name
    log.info(f"settings of {file} ({why}); `--config {presets.PREFIX}NAME` takes another: {', '.join(presets.PRESETS)}")
    return file


def _chosen(over: Mapping[str, Any], key: str) -> Any:
    """Return what ``over`` says of a key of ``model``, or None."""
    model = over.get("model")
    return model.get(key) if isinstance(model, dict) else None


def _decoder(dataset: Dataset, file: Path | str | None, over: Mapping[str, Any]) -> list[str]:
    """Return the decoder dot, as a setting, where links have no direction and the preset's decoder would learn one."""
    if _chosen(over, "decoder") is not None or str(file) not in PLAIN_LINKS or dataset.manifest.relations > 1:
        return []
    links = directions(dataset)
    if links.perhaps_each_edge_once:
        log.info(
            "no edge is stored in both directions: where links have no direction, `preprocess --undirected` often gives better "
            "models: compare both by `eval`"
        )
    if not links.undirected:
        return []
    steps = link_steps(dataset, memory_of(over))
    if steps is not None:
        log.info(
            f"{file}'s own decoder, though edges are stored in both directions: an inner product is for links of nodes that are "
            f"alike, but few linked nodes have neighbours in common. Of links left out, walks of three steps find the other end "
            f"with a mean reciprocal rank of {steps.three:.3f}, walks of two and four with {steps.even:.3f}; --set {DECODER}dot "
            "takes it all the same"
        )
        return []
    log.info(
        f"{DECODER}dot instead of {file}'s own, because edges are stored in both directions; --set {DECODER}NAME takes another"
    )
    return [DECODER + "dot"]


def shape_of(dataset: Dataset, over: Mapping[str, Any], seen: Tried | None = None) -> presets.GraphShape:
    """Return the facts by which a preset is chosen. ``over``: what is given. ``seen``: what linear models say, where they were
    tried."""
    manifest = dataset.manifest
    classified, labelled = _classified(dataset), _labelled(dataset)
    unlike = None if seen is None else seen.unlike
    if unlike is None and labelled and manifest.nodes <= (presets.FEW_NODES if classified else MOST_KNOWN):
        alike = likeness(dataset)
        unlike = alike is not None and alike < presets.ALIKE
    return presets.GraphShape(
        nodes=manifest.nodes,
        edges=manifest.edges["train"],
        relations=manifest.relations,
        classified=classified,
        encoded=_chosen(over, "encoder") not in (None, "none"),
        available_memory=machine.available_memory(),
        unlike=bool(unlike),
        featureless=labelled and not classified,
        far=seen is not None and may_take_more_hops(over, seen),
        split=len(manifest.edges) > 1,
    )


def linear_models(
    dataset: Dataset, asked: Any = None, counts: bool = False, known: bool = False, memory: int = 0
) -> Tried | None:
    """Try linear models where nodes have features and classes, see `graph.hops`. ``asked``: the given `model.directions`.
    ``counts``, ``known``: whether the encoder may be shown how many neighbours a node has, and which training nodes are of which
    class. ``memory``: see `graph.hops.tried`."""
    if not _classified(dataset):
        return None
    ends = [asked] if asked in DIRECTIONS else DIRECTIONS[:1] if directions(dataset).undirected else DIRECTIONS
    return tried(dataset, ends, unit_of, counts, memory, known)


def _classified(dataset: Dataset) -> bool:
    return bool(dataset.features) and _labelled(dataset)


def _bare(dataset: Dataset, over: Mapping[str, Any]) -> bool:
    """Return whether nodes without features are to be classified."""
    links_too = len(dataset.manifest.edges) > 1 and over.get("task") != presets.NODES
    return _labelled(dataset) and not dataset.features and not links_too


def _labelled(dataset: Dataset) -> bool:
    return bool(dataset.labels and dataset.node_counts and dataset.adjacency)
