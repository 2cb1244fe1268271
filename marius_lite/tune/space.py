"""The search space: for each setting that is searched, the values that it may take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marius_lite.config.decoders import DECODERS
from marius_lite.config.load import settings, validated
from marius_lite.config.planning import planning_of
from marius_lite.config.presets import PREFIX
from marius_lite.config.schema import Config
from marius_lite.config.yaml_text import parse_yaml, shown
from marius_lite.errors import UserError

DISTANCES = ("transe", "rotate")
SHAPE = "write a list of values, {low: X, high: Y} with perhaps log: true, or null for a setting that is not searched"
AUTO_WEIGHT = 0.05
"""The regularizer's weight that stands for auto in the first trial."""


@dataclass(frozen=True)
class Choices:
    """One of some values."""

    values: tuple[Any, ...]

    def nearest(self, value: Any) -> Any:
        """Return the value itself where it is one of the choices, else the first."""
        return value if value in self.values else self.values[0]


@dataclass(frozen=True)
class Span:
    """A number from ``low`` to ``high``, whole where both are. ``log``: drawn evenly by its logarithm."""

    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def nearest(self, value: Any) -> Any:
        """Return the number itself where it is between the ends, else the end that is nearer to it."""
        return min(max(value, self.low), self.high) if isinstance(value, (int, float)) else self.low


Space = dict[str, Choices | Span]


def default_space(base: Config, relations: int, file: str) -> Space:
    """Return the space around a configuration. ``file``: where it is from; only a preset knows what other decoders need."""
    if not planning_of(base).reduces_graph(base):
        return _of_encoders(base)
    dim, batch, count = base.model.dim, base.training.batch_size, base.negatives.count
    space: Space = {
        "model.dim": Choices(tuple(sorted({max(2, dim // part // 2 * 2) for part in (4, 2)} | {dim}))),
        "model.dropout": Choices(tuple(sorted({0.0, 0.1, 0.3, base.model.dropout}))),
        "optimizer.rows.lr": Span(base.optimizer.rows.lr / 5, base.optimizer.rows.lr * 5, log=True),
        "optimizer.dense.lr": Span(base.optimizer.dense.lr / 5, base.optimizer.dense.lr * 5, log=True),
        "training.batch_size": Choices((max(1, batch // 2), batch, 2 * batch)),
        "negatives.count": Choices(("all", 1000) if count == "all" else (max(1, count // 2), count, 2 * count)),
        "loss.name": Choices(
            tuple(dict.fromkeys((base.loss.name, "logistic", *(() if base.loss.name == "auto" else ("softmax",)))))
        ),
        "regularizer.weight": Span(AUTO_WEIGHT / 10, AUTO_WEIGHT * 10, log=True),
    }
    if file.startswith(PREFIX):
        known = ("complex", "distmult", *DISTANCES) if relations > 1 else ("complex", "dot", "distmult")
        space = {"model.decoder": Choices(tuple(dict.fromkeys((base.model.decoder, *known)))), **space}
    if base.loss.relation_weight > 0:
        space["loss.relation_weight"] = Choices((0.0, base.loss.relation_weight))
    return space


def _of_encoders(base: Config) -> Space:
    widths = base.model.layers
    layers = [tuple(max(1, int(width * factor)) for width in widths) for factor in (0.5, 1, 2)]
    lr = base.optimizer.dense.lr
    return {
        **({"model.layers": Choices(tuple(dict.fromkeys(layers)))} if widths else {}),
        "model.dropout": Choices(tuple(sorted({0.0, 0.3, 0.5, 0.7, base.model.dropout}))),
        "optimizer.dense.lr": Span(lr / 10, lr * 10, log=True),
        "training.batch_size": Choices(tuple({max(1, base.training.batch_size // 2): 0, base.training.batch_size: 0})),
    }


def read_space(path: Path | None, default: Space) -> Space:
    """Return the default space as a YAML file changes it. Raises UserError: file, setting, what is allowed."""
    if path is None:
        return default
    try:
        tree = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"not valid YAML: {error}"
        raise UserError(f"--space {path}: {reason}: {SHAPE}") from None
    if not isinstance(tree, dict):
        raise UserError(f"--space {path}: settings such as model.dim are needed, each with its values: {SHAPE}")
    space = dict(default)
    for key, given in tree.items():
        space.pop(str(key), None)
        if given is not None:
            space[str(key)] = _searched(str(key), given, path)
    if not space:
        raise UserError(f"--space {path}: leaves no setting to search: {SHAPE}")
    return space


def _searched(key: str, given: Any, path: Path) -> Choices | Span:
    where = f"--space {path}"
    if isinstance(given, list) and given:
        searched: Choices | Span = Choices(tuple(tuple(value) if isinstance(value, list) else value for value in given))
        ends = list(given)
    elif isinstance(given, dict) and {*given} <= {"low", "high", "log"} and _ends(given):
        searched = Span(given["low"], given["high"], given.get("log", False))
        ends = [searched.low, searched.high]
        if not searched.low < searched.high or (searched.log and searched.low <= 0):
            raise UserError(f"{where}: `{key}`: low must be below high, and above 0 where log is true: {shown(given)}")
    else:
        raise UserError(f"{where}: `{key}` is {shown(given)}: {SHAPE}")
    for value in ends:
        validated(settings([setting(key, value)]), where)
    return searched


def _ends(given: Mapping[str, Any]) -> bool:
    numbers = [given.get("low"), given.get("high")]
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in numbers) and isinstance(
        given.get("log", False), bool
    )


def setting(key: str, value: Any) -> str:
    """Return a setting as `--set` takes it."""
    return f"{key}={json.dumps(value)}"


def first_point(space: Space, base: Config) -> dict[str, Any]:
    """Return the point of the space that is nearest to a configuration: the first trial."""
    return {key: searched.nearest(_value(base, key)) for key, searched in space.items()}


def left_out(space: Space, base: Config) -> dict[str, Any]:
    """Return the values of a configuration that are not in the space: its first trial has others there."""
    point = first_point(space, base)
    return {key: value for key in space if (value := _value(base, key)) != point[key]}


def _value(config: Config, key: str) -> Any:
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return AUTO_WEIGHT if key == "regularizer.weight" and value == "auto" else value


def applied(point: Mapping[str, Any], base: Config) -> list[str]:
    """Return the settings of a point that mean something, as `--set` takes them.

    ``base``: the configuration with the point's decoder, if it has one. The regularizer's weight means nothing where there is
    none. Distances take no more numbers a node than their preset, nor all nodes as negatives, because each costs more. A loss
    takes its own parameters along.
    """
    chosen = dict(point)
    if base.regularizer.name == "none":
        chosen.pop("regularizer.weight", None)
    decoder = DECODERS[base.model.decoder]
    if "model.dim" in chosen and not decoder.inner:
        chosen["model.dim"] = min(chosen["model.dim"], base.model.dim)
    if chosen.get("negatives.count") == "all" and not decoder.inner:
        chosen.pop("negatives.count")
    if not decoder.asks_for_relations or base.loss.relation_weight == 0:
        chosen.pop("loss.relation_weight", None)
    if chosen.get("loss.name", "logistic") != "logistic":
        chosen |= {key: 0 for key in ("loss.offset", "loss.adversarial_temperature") if key not in chosen and _value(base, key)}
    return [setting(key, value) for key, value in chosen.items()]
