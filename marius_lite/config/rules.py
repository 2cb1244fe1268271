"""Rules between keys that a schema of single keys cannot express."""

from __future__ import annotations

from marius_lite.config.schema import Config, LossSection
from marius_lite.errors import UserError


def check_rules(config: Config, where: str) -> None:
    """Raise UserError for keys that contradict each other."""
    for broken, message in _rules(config):
        if broken:
            raise UserError(f"{where}: {message}")


def _rules(config: Config) -> list[tuple[bool, str]]:
    model, loss, negatives = config.model, config.loss, config.negatives
    return [
        (model.decoder in ("complex", "rotate") and model.dim % 2 == 1,
         f"`model.dim` is {model.dim}: decoder {model.decoder} stores two numbers per complex number, choose an even dim"),
        (loss.margin != LossSection().margin and loss.name != "margin",
         f"`loss.margin` is {loss.margin}, but `loss.name` is {loss.name}: remove it or choose loss margin"),
        (loss.adversarial_temperature > 0 and loss.name != "logistic",
         f"`loss.adversarial_temperature` is set, but `loss.name` is {loss.name}: only logistic weights its negatives"),
        (config.regularizer.name == "none" and config.regularizer.weight > 0,
         f"`regularizer.weight` is {config.regularizer.weight}, but `regularizer.name` is none: set the name to n3"),
        (negatives.chunks > config.training.batch_size,
         f"`negatives.chunks` is {negatives.chunks}, more than `training.batch_size` {config.training.batch_size}"),
    ]
