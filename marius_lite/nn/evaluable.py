"""Find out whether the encoder of a configuration exists and can be evaluated.

Only a module of the user must be made to know this. So torch is loaded for such a module alone.
"""

from __future__ import annotations

from dataclasses import replace

from marius_lite.config.facts import Facts
from marius_lite.config.inputs import input_width
from marius_lite.config.planning import planning_of
from marius_lite.config.schema import Config


def with_encoder(config: Config, facts: Facts) -> Facts:
    """Return the facts with their ``whole_graph_reason``. Raises UserError for an encoder that cannot be made."""
    settings = config.model
    if ":" not in settings.encoder:
        return facts
    from marius_lite.nn.encoders import EncoderShape, whole_graph_reason
    from marius_lite.nn.encoders.custom import load_module

    out = planning_of(config).out_width(config, facts)
    shape = EncoderShape(
        input_width(config, facts),
        [*settings.layers, out],
        dropout=settings.dropout,
        heads=settings.heads,
        relations=facts.relations,
    )
    return replace(facts, whole_graph_reason=whole_graph_reason(load_module(settings.encoder, shape)))
