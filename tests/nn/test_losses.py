"""Gradients written by hand against autograd, also where scores are extreme."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.nn.losses import LOSSES, Logistic, Margin, Softmax
from marius_lite.nn.workspace import Workspace


def softmax(scores):
    return F.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long), reduction="sum")


def logistic(scores, margin=0.0, temperature=0.0):
    weights = torch.softmax(temperature * (scores[:, 1:] + margin), 1).detach()
    return (
        F.softplus(-margin - scores[:, 0], threshold=80).sum()
        + (weights * F.softplus(margin + scores[:, 1:], threshold=80)).sum()
    )


def margin_ranking(scores, margin=1.0):
    return F.relu(margin + scores[:, 1:] - scores[:, :1]).mean(1).sum()


CASES = [
    (Softmax(), softmax),
    (Logistic(), logistic),
    (Logistic(margin=2.0), lambda s: logistic(s, 2.0)),
    (Logistic(temperature=1.5), lambda s: logistic(s, 0.0, 1.5)),
    (Margin(), margin_ranking),
    (Margin(margin=0.3), lambda s: margin_ranking(s, 0.3)),
]


@pytest.mark.parametrize(("loss", "reference"), CASES, ids=lambda c: str(c) if not callable(c) else "")
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 12), st.sampled_from([0.01, 1.0, 30.0, 300.0]))
def test_gradients_equal_autograd(loss, reference, seed, edges, negatives, scale):
    scores = torch.randn(edges, 1 + negatives, generator=torch.Generator().manual_seed(seed)) * scale
    exact = scores.double().requires_grad_()
    expected = reference(exact)
    expected.backward()
    value = loss(scores, Workspace())
    assert value.dtype == torch.float64
    torch.testing.assert_close(value, expected.detach(), rtol=1e-5, atol=1e-5 * edges)
    torch.testing.assert_close(scores.double(), exact.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_nan_is_passed_on(name):
    scores = torch.zeros(3, 5)
    scores[1, 2] = torch.nan
    assert LOSSES[name]()(scores, Workspace()).isnan()


@pytest.mark.parametrize("loss", [loss for loss, _ in CASES], ids=str)
def test_an_edge_whose_negatives_are_all_left_out_has_only_its_positive(loss):
    """What is left out has a score of -inf. Beside it an edge is as it is without it."""
    scores = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    scores[1, 1:] = -torch.inf
    alone, together = scores[[0, 2]], scores.clone()
    expected, value = loss(alone, Workspace()), loss(together, Workspace())
    assert together.isfinite().all()
    assert (together[1, 1:] == 0).all()
    torch.testing.assert_close(together[[0, 2]], alone)
    positive = {"Softmax": 0.0, "Margin": 0.0}.get(type(loss).__name__)
    if positive is None:
        positive = F.softplus(-scores[1, 0] - loss.margin).double()
    torch.testing.assert_close(value - expected, torch.as_tensor(positive, dtype=torch.float64), rtol=1e-5, atol=1e-6)
