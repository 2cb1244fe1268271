"""The stages of a run: one, or, of an encoder that is trained one layer after another, one for each layer."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from marius_lite.checkpoint.state import Cursor, State
from marius_lite.config import layerwise
from marius_lite.config.schema import Config
from marius_lite.encode.layerwise import Layers
from marius_lite.encode.vectors import SCRATCH
from marius_lite.graph.dataset import Dataset
from marius_lite.log import log
from marius_lite.processes.interrupt import Interrupt, Interrupted
from marius_lite.tasks.node_model import layer_classifier
from marius_lite.temporary import scratch


@dataclass(frozen=True)
class TrainingStage:
    """A part of a run, which trains one model. ``dataset``, ``config``: as this stage sees them. ``about``: what is said of it.
    ``epochs``: those of the whole run.

    ``is_first``: whether it is the first that this process trains.
    """

    dataset: Dataset
    config: Config
    model: Any
    epochs: int
    first_epoch: int = 0
    is_first: bool = True
    about: str = ""

    def goes_on_from(self, state: State) -> bool:
        """Return whether a state is of this stage, and not of the end of the stage before it."""
        return self.first_epoch == 0 or state.cursor > Cursor(self.first_epoch)


def stages(
    dataset: Dataset, config: Config, model: Any, folder: Path, state: State | None
) -> Generator[TrainingStage, None, None]:
    """Yield the stages of a run that are not finished, one after another. Each must be trained before the next is asked for.

    ``model``: the whole model, with the weights of ``state`` where there is one. ``folder``: where scratch files lie meanwhile.
    """
    if not config.trains_layerwise:
        yield TrainingStage(dataset, config, model, config.training.epochs)
        return
    epoch = state.cursor.epoch - state.evaluate if state else 0
    count = layerwise.layers(config)
    with scratch(folder, SCRATCH) as place:
        layers = Layers(dataset, config, model.encoder, dataset.required_labels().classes, place)
        at = layerwise.layer_of(config, epoch)
        for layer in range(at, count):
            log.info("%s%s", *_about_pass(config, layer))
            with Interrupt() as interrupt:
                data, row_layer = layers.at(layer, partial(_stop_if_asked, interrupt, folder))
            yield TrainingStage(
                data,
                layerwise.of_layer(config, layer),
                layer_classifier(model, row_layer),
                config.training.epochs,
                layerwise.first_epoch(config, layer),
                layer == at,
                f"{_about_pass(config, layer)[0]}trained on {row_layer.in_width:,} numbers of each node{_others(config)}",
            )


def _about_pass(config: Config, layer: int) -> tuple[str, str]:
    """Return which layer it is, where there are several, and how often nodes take from their neighbours."""
    count, hops = layerwise.layers(config), config.model.hops if config.propagates else 1
    often = f", {hops} times" if hops > 1 else ""
    taken = f"all nodes take from their neighbours{often}" if hops else "nodes are seen by themselves"
    return f"layer {layer + 1} of {count}: " if count > 1 else "", taken


def _others(config: Config) -> str:
    return "" if config.propagates and config.model.hops == 0 else " and its neighbours"


def _stop_if_asked(interrupt: Interrupt, folder: Path) -> None:
    if interrupt.signum is not None:
        raise Interrupted(
            interrupt.signum,
            f"stopped before a layer: `marius-lite resume {folder}` goes on from the last checkpoint, or from the beginning",
        )
