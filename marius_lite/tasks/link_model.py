"""Make the model of link prediction, with its first weights."""

from __future__ import annotations

from typing import Any

from marius_lite.config.directions import listed_relations
from marius_lite.config.schema import Config
from marius_lite.encode.encoders import initial_encoder
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.inputs import input_width
from marius_lite.nn.decoders import decoder_class
from marius_lite.nn.losses import Loss
from marius_lite.nn.model import LinkPredictionModel, Objective, make_loss
from marius_lite.rows.first_rows import draw_of
from marius_lite.seeds import generator_for


def loss_of(config: Config) -> Loss:
    """Return the loss of a configuration, with its options."""
    return make_loss(config.loss.name, _options(config))


def _options(config: Config) -> dict[str, Any]:
    loss = config.loss
    options = {
        "logistic": {"margin": loss.offset, "temperature": loss.adversarial_temperature},
        "margin": {"margin": loss.margin},
    }
    return options.get(loss.name, {})


def make_model(dataset: Dataset, config: Config) -> LinkPredictionModel:
    """Return the model with its first relations and its encoder's first weights, on the CPU."""
    model, loss = config.model, config.loss
    encoder = None
    if model.encoder != "none":
        encoder = initial_encoder(
            config, input_width(dataset, config), model.dim, listed_relations(config, dataset.manifest.relations)
        )
    objective = Objective(
        loss.name,
        _options(config),
        model.dropout,
        float(config.regularizer.weight),
        loss.relation_weight,
        config.training.scoring,
        config.has_biases,
    )
    return LinkPredictionModel(
        model.decoder,
        dataset.manifest.relations,
        model.dim,
        generator_for(config.training.seed, "relations"),
        objective,
        reciprocal=model.reciprocal,
        encoder=encoder,
        relation_draw=draw_of(config.init.relations, decoder_class(model.decoder).relation_draw(model.dim)),
    )
