"""Models of link prediction, and one batch's way through them, for tests of several folders."""

from dataclasses import fields

from marius_lite.nn.model import LinkPredictionModel, Objective
from marius_lite.rows.batch import finite
from marius_lite.types import RowGrads

OF_OBJECTIVES = [field.name for field in fields(Objective)]


def make_model(decoder, relations, dim, generator, **options):
    """``options``: of the model, or of its objective."""
    objective = Objective(**{name: options.pop(name) for name in OF_OBJECTIVES if name in options})
    return LinkPredictionModel(decoder, relations, dim, generator, objective, **options)


def learn(model, batch):
    """The loss as a number, and the gradients with their rows. RunError when the loss is not finite."""
    sampled = batch.sampled
    loss, grads = model.gradients(batch)
    negatives = [side.reshape(-1) for side in sampled.negatives]
    return finite(float(loss), sampled.edges), RowGrads((sampled.edges.src, sampled.edges.dst, *negatives), grads)
