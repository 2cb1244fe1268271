"""Open the representation that a configuration asks for, over a run's rows."""

from __future__ import annotations

from pathlib import Path

from marius_lite.config.encoder_memory import recurs
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import Accelerator
from marius_lite.encode.neighbourhoods import Neighbourhoods, open_neighbourhoods
from marius_lite.encode.normalization import normalization
from marius_lite.encode.representation import Encoded, Representation, RowsThemselves
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.fanouts import hop_fanouts
from marius_lite.graph.known_classes import known_classes
from marius_lite.nn.encoders import AnyEncoder
from marius_lite.rows.resident import ResidentRows
from marius_lite.sampling.passes import AnyLists


def represent(
    rows: ResidentRows,
    accelerator: Accelerator | None,
    dataset: Dataset,
    config: Config,
    encoder: AnyEncoder | None,
    folder: Path,
    lists: AnyLists | None = None,
) -> Representation:
    """Return the rows themselves, or the vectors of an encoder. ``folder``: where temporary files may be. ``lists``: of a CPU, to
    sample from instead of the dataset's."""
    if encoder is None:
        return RowsThemselves(rows)
    if lists is None:
        neighbourhoods = open_neighbourhoods(accelerator, dataset, config, encoder.asks_for_degrees, folder, rows.device_room)
    else:
        neighbourhoods = Neighbourhoods(lists, hop_fanouts(config, dataset), int(config.training.threads))
    pads = accelerator is not None and accelerator.recurring and recurs(config)
    device = next((weight.device for weight in encoder.parameters()), "cpu")
    dropout, left_out = float(config.model.input_dropout), float(config.sampling.edge_dropout)
    known = known_classes(dataset, config)
    normalize = normalization(dataset, config, device, known)
    return Encoded(rows, encoder, neighbourhoods, normalize, dropout, pads, left_out, known)
