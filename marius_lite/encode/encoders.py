"""Make the encoder that a configuration names, with its first weights."""

from __future__ import annotations

import torch

from marius_lite.config.schema import Config
from marius_lite.errors import UserError
from marius_lite.nn.encoders import AnyEncoder, CustomEncoder, EncoderShape, Layered, make_encoder, whole_graph_reason
from marius_lite.seeds import seed_for


def initial_encoder(config: Config, in_width: int, out_width: int, relations: int) -> AnyEncoder:
    """Return the encoder on the CPU. Its weights follow from the run's seed."""
    settings = config.model
    torch.manual_seed(seed_for(config.training.seed, "encoder"))
    shape = EncoderShape(
        in_width,
        [*settings.layers, out_width],
        dropout=settings.dropout,
        norm=settings.norm,
        residual=settings.residual,
        heads=settings.heads,
        relations=relations,
        gcn_norm=settings.gcn_norm,
        diagonal=settings.diagonal,
        groups=settings.reversible,
        sums=torch.float32 if settings.reversible_sums == "float32" else torch.float64,
        hops=settings.hops,
        degree_unit=settings.degree_unit,
        degrees_apart=settings.degrees_apart,
    )
    return make_encoder(settings.encoder, shape)


def weight_decays(config: Config, encoder: AnyEncoder | None) -> dict[str, float]:
    """Return the weight decay of parameters, by how their names begin: one for all, or one for each layer of an encoder.

    Raises UserError for one each where the encoder's layers are not known.
    """
    decay = config.optimizer.dense.weight_decay
    if isinstance(decay, float):
        return {"": decay}
    if isinstance(encoder, CustomEncoder) and not isinstance(encoder, Layered):
        raise UserError(
            f"`optimizer.dense.weight_decay` has a number for each layer, but `model.encoder` {config.model.encoder} "
            f"{whole_graph_reason(encoder.module)}: give one number for all"
        )
    where = "encoder.module" if isinstance(encoder, CustomEncoder) else "encoder"
    return {f"{where}.{part}.{layer}.": value for layer, value in enumerate(decay) for part in ("convs", "norms", "residuals")}
