"""Check rules between settings. The schema only checks each for itself."""

from __future__ import annotations

from marius_lite.config import clusters, edge_dropout, edge_weights, first_negatives, lanes, layerwise, reversible, weight_power
from marius_lite.config.decoders import DECODERS
from marius_lite.config.encoder_memory import uniform
from marius_lite.config.model_sections import PROPAGATING, LossSection, ModelSection
from marius_lite.config.planning import Rules, planning_of
from marius_lite.config.schema import Config
from marius_lite.errors import UserError

ENCODERS_OF_LAYERS = ("sage", "gcn", "gat", "rgcn")


def check_rules(config: Config, where: str) -> None:
    """Raise UserError for settings that contradict each other. ``where``: the file that they are from."""
    for broken, message in _rules(config):
        if broken:
            raise UserError(f"{where}: {message}")


def _rules(config: Config) -> Rules:
    """Return the rules of all tasks, and those of this task."""
    model, loss, negatives = config.model, config.loss, config.negatives
    decoder, planning = DECODERS[model.decoder], planning_of(config)
    return [
        (
            decoder.even and model.dim % 2 == 1,
            f"`model.dim` is {model.dim}: decoder {model.decoder} stores two numbers per complex number, choose an even dim",
        ),
        (
            loss.margin != LossSection().margin and loss.name != "margin",
            f"`loss.margin` is {loss.margin}, but `loss.name` is {loss.name}: remove it or choose loss margin",
        ),
        (
            loss.offset > 0 and loss.name != "logistic",
            f"`loss.offset` is {loss.offset}, but `loss.name` is {loss.name}: remove it or choose loss logistic",
        ),
        (
            loss.adversarial_temperature > 0 and loss.name != "logistic",
            f"`loss.adversarial_temperature` is set, but `loss.name` is {loss.name}: only logistic weights its negatives",
        ),
        (
            config.regularizer.name == "none" and config.regularizer.weight not in (0, "auto"),
            f"`regularizer.weight` is {config.regularizer.weight}, but `regularizer.name` is none: set the name to n3",
        ),
        (
            config.regularizer.decay < 1 and config.optimizer.schedule.name != "plateau",
            f"`regularizer.decay` is {config.regularizer.decay}, but `optimizer.schedule.name` is "
            f"{config.optimizer.schedule.name}: only a plateau changes the regularizer",
        ),
        (
            model.encoder == "none" and model.inputs in ("features", "both"),
            f"`model.inputs` is {model.inputs}, but without `model.encoder` the learned row is all there is: choose sage, gcn, "
            "gat, rgcn or package.module:Class, or leave it out",
        ),
        *(
            (
                getattr(model, key) == value and model.encoder not in encoders,
                f"`model.{key}` is {value}, but `model.encoder` is {model.encoder}: only {' and '.join(encoders)} "
                f"{'has' if len(encoders) == 1 else 'have'} it, remove it",
            )
            for key, value, encoders in (
                ("gcn_norm", "row", ("gcn",)),
                ("gcn_norm", "mean", PROPAGATING),
                ("diagonal", model.diagonal or None, ("gcn",)),
            )
        ),
        (
            model.degree_unit > 0
            and (model.encoder not in ENCODERS_OF_LAYERS or model.reversible > 0 or config.training.method != "sampled"),
            f"`model.degree_unit` is {model.degree_unit:g}, but `model.encoder` is {model.encoder}, `model.reversible` "
            f"{model.reversible} and `training.method` {config.training.method}: only {', '.join(ENCODERS_OF_LAYERS)} see "
            "how many neighbours a node has, sampled and not reversible: set it to 0",
        ),
        (
            model.degrees_apart and (model.degree_unit == 0 or model.directions != "both"),
            f"`model.degrees_apart` is true, but `model.degree_unit` is {model.degree_unit:g} and `model.directions` "
            f"{model.directions}: neighbours at either end are counted where one is above 0 and the other both: set it to false",
        ),
        (
            model.known_classes and (config.task != "node_classification" or config.training.method != "sampled"),
            f"`model.known_classes` is true, but `task` is {config.task} and `training.method` {config.training.method}: the "
            "classes of neighbours are seen by nodes that are classified, by sampled batches: set it to false",
        ),
        (
            model.known_classes and config.scale.ranks > 1,
            f"`model.known_classes` is true, but `scale.ranks` is {config.scale.ranks}: a batch's own classes are hidden "
            "from it, and each rank would hide those of its own part alone: set one of them back",
        ),
        (
            model.hops != ModelSection().hops and not config.propagates,
            f"`model.hops` is {model.hops}, but `model.encoder` is {model.encoder}: only sgc and sign have it, remove it",
        ),
        (loss.name not in ("auto", *planning.losses), f"`loss.name` is {loss.name}, but `task` is {config.task}: leave it out"),
        (
            config.training.metric not in ("auto", *planning.metrics),
            f"`training.metric` is {config.training.metric}, but an evaluation of {config.task} tells "
            f"{', '.join(planning.metrics)}: choose one of these",
        ),
        *planning.rules(config),
        *layerwise.rules(config),
        *clusters.rules(config),
        *lanes.rules(config),
        *reversible.rules(config),
        *edge_dropout.rules(config),
        *first_negatives.rules(config),
        *edge_weights.rules(config),
        *weight_power.rules(config),
        (
            model.encoder != "none"
            and config.sampling.fanouts != "auto"
            and len(config.sampling.fanouts) != len(model.layers) + 1,
            f"`sampling.fanouts` has {len(config.sampling.fanouts)} numbers, but `model.layers` makes {len(model.layers) + 1} "
            "layers: give one for each",
        ),
        (
            model.encoder == "none" and config.sampling.weighted,
            "`sampling.weighted` is true, but `model.encoder` is none: only an encoder samples neighbours",
        ),
        (
            model.encoder == "none" and config.sampling.device == "cuda",
            f"`sampling.device` is {config.sampling.device}, but `model.encoder` is none: only an encoder samples neighbours",
        ),
        (
            config.sampling.device == "cuda" and not uniform(config),
            "`sampling.device` is cuda, but `sampling.weighted` is true or `sampling.fanouts` differ by relation: such draws are "
            "made on the CPU so far, use `sampling.device: cpu`",
        ),
        (
            isinstance(config.optimizer.dense.weight_decay, tuple)
            and len(config.optimizer.dense.weight_decay) != len(model.layers) + 1,
            f"`optimizer.dense.weight_decay` must be one number, or one for each of the {len(model.layers) + 1} layers",
        ),
        (
            model.input_dropout not in ("auto", 0) and (config.task != "node_classification" or model.encoder == "none"),
            f"`model.input_dropout` is {model.input_dropout}, but `task` is {config.task} and `model.encoder` {model.encoder}: "
            "it is for encoders of nodes to classify, `model.dropout` sets numbers to zero elsewhere",
        ),
        (
            model.directions != "in" and model.encoder == "none",
            f"`model.directions` is {model.directions}, but `model.encoder` is none: nodes have no neighbours, remove it",
        ),
        (
            model.encoder == "none" and isinstance(config.optimizer.dense.weight_decay, tuple),
            "`optimizer.dense.weight_decay` has a number for each layer, but `model.encoder` is none: give one number",
        ),
        (
            negatives.count == "all" and negatives.degree_fraction > 0,
            f"`negatives.degree_fraction` is {negatives.degree_fraction}, but `negatives.count` is all: remove it",
        ),
        (
            negatives.log_q and negatives.degree_fraction == 0,
            "`negatives.log_q` is true, but `negatives.degree_fraction` is 0: all nodes are drawn alike, remove it",
        ),
        (
            planning.unit == "edges" and negatives.chunks > config.training.batch_size,
            f"`negatives.chunks` is {negatives.chunks}, more than `training.batch_size` {config.training.batch_size}",
        ),
    ]
