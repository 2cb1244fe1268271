"""Change settings of a preset for classes of nodes by what the dataset is like: its features, and how many nodes it trains."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from marius_lite.config import presets
from marius_lite.config.inputs import FIRST_HOPS
from marius_lite.config.machine import available_memory
from marius_lite.config.model_sections import MOST_FIRST_HOPS, PROPAGATING
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.feature_sample import sampled
from marius_lite.graph.features import Features
from marius_lite.graph.first_hops import first_hops
from marius_lite.graph.likeness import likeness
from marius_lite.graph.linear_shares import Tried
from marius_lite.graph.linear_test import clear
from marius_lite.graph.symmetry import DIRECTIONS, directions
from marius_lite.graph.weight_unit import unit_of
from marius_lite.log import log
from marius_lite.sizes import parse_bytes

UPDATES = {"gcn": 500, "sage": 1000}
"""The presets that are changed, and the steps of the optimizer that a run with them may take at least, where validation does not
stop it before. The rate of sage is a third of that of gcn."""
FEW_OF_CLASS = 20
"""Training nodes of a class below which sage is often far behind gcn."""
PATIENCE = 20
"""Evaluations without a better one after which sgc stops: rows shrink with each hop, so that it learns slowly at first, and its
epochs cost little."""
SOME = [15, 10]
"""How many neighbours gcn takes of a node, and of these, in graphs of more than `presets.FEW_NODES`."""
NORMALIZE = "model.normalize_features"
SLIGHT = 0.1
"""The most shrinkage of linear models that is little."""
LEAST_BATCHES = 8
"""Batches of an epoch, at least, where each hides the classes of its own nodes: those that are validated see all."""
SHOWN_SO = ("dropout", "input_dropout", "normalize_features", "most_deviations", "codes", "degrees_apart")
"""What of a model says how its input is shown, which leaves open of what kind it is."""


def node_settings(dataset: Dataset, file: str, over: Mapping[str, Any]) -> list[str]:
    """Return settings, as of ``--set``, that suit the dataset better than those of the preset ``file``. ``over``: what is given.

    Nothing is changed that is given. The log says what changes, and why. Raises RunError for features that cannot be read.
    """
    name = file.removeprefix(presets.PREFIX)
    if name == file or name not in UPDATES or over.get("task") not in (None, presets.NODES):
        return []
    preset = presets.read(name, None)
    _say_few(dataset, name)
    ends, size = _both_ends(dataset, name, over), _smaller_batches(dataset, preset, over)
    sized = presets.merged(over, {"training": {"batch_size": size}}) if size else over
    return [
        *([f"training.batch_size={size}"] if size else []),
        *_features(dataset, preset, over),
        *ends,
        *_first_hops(dataset, name, over, "both" if ends else section(over, "model").get("directions", "in")),
        *_epochs(dataset, preset, sized, UPDATES[name]),
        *_layers(preset, over),
        *_implied(over),
    ]


def _say_few(dataset: Dataset, name: str) -> None:
    """Say that sage, which learns of a node and of its neighbours apart, needs more training nodes than there are."""
    trained, classes = dataset.node_counts.get("train", 0), dataset.labels.classes if dataset.labels is not None else 0
    if name != "sage" or not 0 < trained < FEW_OF_CLASS * classes:
        return
    alike = likeness(dataset)
    if alike is None or alike >= presets.ALIKE:
        log.info(
            f"{trained:,} training nodes of {classes:,} classes are few for {presets.PREFIX}sage: where linked nodes are often "
            f"of one class, {presets.PREFIX}gcn is usually better"
        )


def by_relation(over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return settings for weights of each relation, or of each end of edges, where linear models are clearly better with them."""
    given = {*SHOWN_SO, "layers", "directions", "degree_unit"}.issuperset(section(over, "model"))
    if not seen.better_related or seen.related is None or not given or "method" in section(over, "training"):
        return []
    turned = seen.related_directions != "in" and "directions" not in section(over, "model")
    settings = ["model.encoder=rgcn", *([f"model.directions={seen.related_directions}"] if turned else [])]
    settings += [f"model.weight_bounds={list(seen.related_bounds)}"] if seen.related_bounds else []
    apart = {"relation": True, "direction": seen.related_directions == "both", "range of weights": bool(seen.related_bounds)}
    each = " and ".join(f"each {name}" for name, so in apart.items() if so)
    counted = seen.most_related > seen.related
    beside, alike = " beside the number of neighbours" if counted else "", seen.most if counted else seen.best
    log.info(
        f"{', '.join(settings)}, because {seen.told(seen.most_related)} where {each} has parameters of its own{beside}, and "
        f"{seen.shown(alike)} where all have the same{seen.in_doubt(seen.most_related, alike)}; --set model.encoder=sage takes "
        "all alike"
    )
    return settings


def by_weight(over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return the setting that lets all edges count alike, where linear models are clearly better so."""
    if not seen.better_unweighted or seen.unweighted is None or "weight_unit" in section(over, "model"):
        return []
    log.info(
        f"model.weight_unit=0, because {seen.told(seen.unweighted)} where all edges count alike, and {seen.shown(seen.best)} "
        "where neighbours count by weights: are large weights of distant nodes?"
    )
    return ["model.weight_unit=0"]


def by_several(dataset: Dataset, file: str, over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return less weight decay where nodes have several classes and linear models are best with little shrinkage. A loss that is
    a mean over all classes has small gradients, beside which the preset's decay is large."""
    slight = seen.several_shrinkage is not None and seen.several_shrinkage <= SLIGHT
    if not slight or dataset.labels is None or "weight_decay" in section(section(over, "optimizer"), "dense"):
        return []
    name, classes = file.removeprefix(presets.PREFIX), dataset.labels.classes
    decay = presets.read(name, None)["optimizer"]["dense"]["weight_decay"]
    less = [float(f"{each / classes:.3g}") for each in decay] if isinstance(decay, list) else float(f"{decay / classes:.3g}")
    log.info(
        f"optimizer.dense.weight_decay={less}, because nodes have several classes, of {classes}, and linear models are best with "
        f"little shrinkage; --set optimizer.dense.weight_decay={decay} takes the preset's"
    )
    return [f"optimizer.dense.weight_decay={less}"]


def by_rarity(over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return the figure that compares checkpoints where all classes but one are rare: most answers are right in any case."""
    if not seen.rare or "metric" in section(over, "training"):
        return []
    metric, said = ("average_precision", "a ROC AUC says") if seen.precise else ("roc_auc", "the share of right answers says")
    log.info(
        f"training.metric={metric}, because by far most nodes are of one class: {said} little; "
        "--set loss.class_weights=balanced finds more nodes of the rarer classes, and takes more others for them"
    )
    return [f"training.metric={metric}"]


def by_directions(over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return the setting that lets nodes take from other ends of edges, where linear models are clearly better so."""
    given = section(over, "model")
    if seen.one_way is None or "directions" in given or given.get("encoder") == "none":
        return []
    ends = "their edges lead to" if seen.directions == "out" else "edges come from or lead to"
    most = max(seen.most, seen.unweighted or 0)
    log.info(
        f"model.directions={seen.directions}, because {seen.told(most)} where nodes take from those that {ends}, and "
        f"{seen.shown(seen.one_way)} from those that edges come from alone; --set model.directions=in takes these"
    )
    return [f"model.directions={seen.directions}"]


def _both_ends(dataset: Dataset, name: str, over: Mapping[str, Any]) -> list[str]:
    """Return the setting that lets nodes take from both ends of edges, where nothing but links of alike nodes tells classes."""
    given = section(over, "model")
    if name != "gcn" or _shown(dataset, over) is not None or "directions" in given or given.get("encoder") == "none":
        return []
    if directions(dataset).undirected:
        return []
    why = "nodes have no features" if dataset.features is None else "features are not seen"
    log.info(
        f"model.directions=both, because {why} and edges are not stored in both directions; "
        "--set model.directions=in takes from those that edges come from alone"
    )
    return ["model.directions=both"]


def _first_hops(dataset: Dataset, name: str, over: Mapping[str, Any], directions: str) -> list[str]:
    """Return over how many hops first rows are mixed, where linear models are clearly better with more than usual."""
    other = (
        section(over, "model").get("encoder", "gcn") != "gcn" or "hops" in section(over, "init") or directions not in DIRECTIONS
    )
    if name != "gcn" or _shown(dataset, over) is not None or other:
        return []
    unit = section(over, "model").get("weight_unit", "auto")
    if unit != "auto" and not (isinstance(unit, int | float) and unit >= 0):
        return []  # `load` says what is wrong with it
    find_unit = unit_of if unit == "auto" else lambda _: unit or None
    found = first_hops(dataset, FIRST_HOPS, MOST_FIRST_HOPS, directions, find_unit, memory_of(over))
    if found is None:
        return []
    log.info(
        f"init.hops={found.hops}, because linear models tell {found.share:.0%} of the labelled nodes right by first rows of so "
        f"many hops, and {found.before:.0%} by those of {FIRST_HOPS}; --set init.hops={FIRST_HOPS} takes these"
    )
    return [f"init.hops={found.hops}"]


def _shown(dataset: Dataset, over: Mapping[str, Any]) -> Features | None:
    """Return the features that an encoder sees."""
    return None if section(over, "model").get("inputs") == "embeddings" else dataset.features


def memory_of(over: Mapping[str, Any]) -> int:
    """Return the bytes of `storage.memory` as given, or those that are free. What is no size is for `load` to tell."""
    try:
        return parse_bytes(section(over, "storage")["memory"])
    except (KeyError, ValueError):
        return available_memory()


def section(over: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return what is given of a section of the configuration."""
    found = over.get(name)
    return found if isinstance(found, dict) else {}


def _features(dataset: Dataset, preset: Mapping[str, Any], over: Mapping[str, Any]) -> list[str]:
    """Return how features are normalized. Counts gain by being divided by the sum of their row; others become too small to learn.

    Columns are standardised where numbers are large, or where some would be all that a network sees beside others.
    """
    given, divided = section(over, "model"), bool(preset["model"].get("normalize_features"))
    if "normalize_features" in given:
        return []
    features = _shown(dataset, over)
    if features is None:
        return [f"{NORMALIZE}=false"] if divided else []
    sample = sampled(features)
    if sample.counts:
        if divided:
            log.info(f"features are counts: each node's are divided by their sum; --set {NORMALIZE}=false takes them as they are")
        return []
    if sample.large or sample.uneven or sample.off_centre:
        why = (
            f"are large (their root mean square is {sample.size:,.0f})"
            if sample.large
            else "have columns of very different sizes"
            if sample.uneven
            else "are far from 0 beside what they differ by"
        )
        log.info(
            f"{NORMALIZE}=columns, because features {why}: each column gets mean 0 and standard deviation 1; "
            f"--set {NORMALIZE}=false takes them as they are"
        )
        return [f"{NORMALIZE}=columns"]
    if not divided:
        return []
    log.info(f"{NORMALIZE}=false, because features are no counts; --set {NORMALIZE}=true divides each node's by their sum")
    return [f"{NORMALIZE}=false"]


def some_neighbours(dataset: Dataset, file: str, over: Mapping[str, Any]) -> list[str]:
    """Return the setting that draws some neighbours of each node in large graphs; the preset takes all in small ones."""
    if file != presets.PREFIX + "gcn" or dataset.manifest.nodes <= presets.FEW_NODES or _settles_fanouts(over):
        return []
    fanouts = _repeated(SOME, (_asked_layers(over) or 1) + 1)
    log.info(
        f"sampling.fanouts={fanouts}, because the graph has more than {presets.FEW_NODES:,} nodes: some neighbours are drawn; "
        f"--set sampling.fanouts={[-1] * len(fanouts)} takes all"
    )
    return [f"sampling.fanouts={fanouts}"]


def all_neighbours(file: str, over: Mapping[str, Any], seen: Tried) -> list[str]:
    """Return the setting that takes all neighbours of each node, where linear models are clearly better by these than by as many
    as the preset draws: where relations of few edges count among many, or each neighbour says next to nothing."""
    if file != presets.PREFIX + "sage" or _settles_fanouts(over) or seen.drawn is None:
        return []
    every, some = seen.drawn
    if not clear(every, some, seen.asked):
        return []
    fanouts = [-1] * ((_asked_layers(over) or 1) + 1)
    log.info(
        f"sampling.fanouts={fanouts}, because {seen.told(every)} by all neighbours of each node, and {seen.shown(some)} by some; "
        f"--set sampling.fanouts={_repeated(SOME, len(fanouts))} draws some"
    )
    return [f"sampling.fanouts={fanouts}"]


def _settles_fanouts(over: Mapping[str, Any]) -> bool:
    """Return whether what is given says how many neighbours are drawn, or draws none."""
    other = section(over, "model").get("encoder") in ("none", *PROPAGATING) or "method" in section(over, "training")
    return other or "fanouts" in section(over, "sampling")


def _asked_layers(over: Mapping[str, Any]) -> int | None:
    """Return how many layers are asked for."""
    asked = section(over, "model").get("layers")
    count = len(asked) if isinstance(asked, list) else asked.get("count") if isinstance(asked, dict) else None
    return count if isinstance(count, int) else None


def _layers(preset: Mapping[str, Any], over: Mapping[str, Any]) -> list[str]:
    """Return the preset's settings of single layers for as many layers as are asked for: as they are, the last one repeated."""
    count = _asked_layers(over)
    if count is None or count == len(preset["model"]["layers"]):
        return []
    result = []
    if "fanouts" not in section(over, "sampling"):
        result.append(f"sampling.fanouts={_repeated(preset['sampling']['fanouts'], count + 1)}")
    decay = preset["optimizer"]["dense"]["weight_decay"]
    if isinstance(decay, list) and "weight_decay" not in section(section(over, "optimizer"), "dense"):
        result.append(f"optimizer.dense.weight_decay={_repeated(decay, count + 1)}")
    return result


def _implied(over: Mapping[str, Any]) -> list[str]:
    """Return the encoder that ranges of weights are for, and the only way to train one whose hops have no weights."""
    encoder = section(over, "model").get("encoder")
    if encoder is None and section(over, "model").get("weight_bounds"):
        log.info("model.encoder=rgcn, because it alone tells edges of one range of weights from those of another")
        return ["model.encoder=rgcn"]
    if encoder not in PROPAGATING or "method" in section(over, "training"):
        return []
    log.info(f"training.method=layerwise, because the hops of {encoder} have no weights: they are taken once, before all else")
    return ["training.method=layerwise", *(patience_of_sgc(over) if encoder == "sgc" else [])]


def patience_of_sgc(over: Mapping[str, Any]) -> list[str]:
    """Return the evaluations without a better one after which sgc stops, unless they are given."""
    return [] if "early_stopping" in section(over, "training") else [f"training.early_stopping={PATIENCE}"]


def _repeated(values: list[Any], count: int) -> list[Any]:
    return [*values, *[values[-1]] * count][:count]


def _smaller_batches(dataset: Dataset, preset: Mapping[str, Any], over: Mapping[str, Any]) -> int:
    """Return the size of smaller batches where known classes are seen and an epoch would have few: each hides those of its own
    nodes. 0: batches are of the preset's size."""
    size = ceil(dataset.node_counts.get("train", 0) / LEAST_BATCHES)
    given = "batch_size" in section(over, "training") or section(over, "model").get("known_classes") is not True
    if given or size >= preset["training"]["batch_size"]:
        return 0
    log.info(
        f"training.batch_size={size}, because each batch hides the classes of its own nodes (model.known_classes): an epoch has "
        f"{LEAST_BATCHES} batches"
    )
    return size


def _epochs(dataset: Dataset, preset: Mapping[str, Any], over: Mapping[str, Any], updates: int) -> list[str]:
    """Return more epochs where each has few batches."""
    given = section(over, "training")
    size, nodes = given.get("batch_size", preset["training"]["batch_size"]), dataset.node_counts.get("train", 0)
    if "epochs" in given or given.get("method") == "cluster" or not isinstance(size, int) or min(size, nodes) < 1:
        return []
    batches = ceil(nodes / size)
    epochs = ceil(updates / batches)
    if epochs <= preset["training"]["epochs"]:
        return []
    parts = "1 batch" if batches == 1 else f"{batches} batches"
    log.info(f"training.epochs={epochs}, because {nodes:,} training nodes are {parts} an epoch")
    return [f"training.epochs={epochs}"]
