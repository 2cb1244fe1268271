"""Open the representation that a configuration asks for, over a run's rows."""

from __future__ import annotations

from marius_lite.config.encoder_memory import recurs
from marius_lite.config.schema import Config
from marius_lite.device.accelerator import Accelerator
from marius_lite.encode.neighbourhoods import open_neighbourhoods
from marius_lite.encode.normalization import normalization
from marius_lite.encode.representation import Encoded, Representation, RowsThemselves
from marius_lite.graph.dataset import Dataset
from marius_lite.nn.encoders import AnyEncoder
from marius_lite.rows.resident import ResidentRows


def represent(
    rows: ResidentRows,
    accelerator: Accelerator | None,
    dataset: Dataset,
    config: Config,
    encoder: AnyEncoder | None,
    dropout: float,
) -> Representation:
    """Return the rows themselves, or the vectors of an encoder. ``dropout``: the share of its input numbers to set to zero."""
    if encoder is None:
        return RowsThemselves(rows)
    neighbourhoods = open_neighbourhoods(accelerator, dataset, config, encoder.asks_for_degrees, rows.device_room)
    pads = accelerator is not None and accelerator.recurring and recurs(config)
    device = next((weight.device for weight in encoder.parameters()), "cpu")
    left_out = float(config.sampling.edge_dropout)
    return Encoded(rows, encoder, neighbourhoods, normalization(dataset, config, device), dropout, pads, left_out)
