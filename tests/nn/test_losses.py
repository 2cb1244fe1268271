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


def parted(scores):
    """New tensors of the scores (n, 1 + k) of positives, and of negatives."""
    return scores[:, 0].clone(), scores[:, 1:].clone()


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
def test_gradients_equal_autograd(place, loss, reference, seed, edges, negatives, scale):
    scores = torch.randn(edges, 1 + negatives, generator=torch.Generator().manual_seed(seed)) * scale
    exact = scores.double().requires_grad_()
    expected = reference(exact)
    expected.backward()
    positive, others = parted(scores)
    with place():
        losses = loss(positive, others, Workspace())
    assert (losses.shape, losses.dtype) == ((edges,), torch.float32)
    torch.testing.assert_close(losses.sum(dtype=torch.float64), expected.detach(), rtol=1e-5, atol=1e-5 * edges)
    torch.testing.assert_close(torch.cat([positive[:, None], others], 1).double(), exact.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_nan_is_passed_on(name, place):
    scores = torch.zeros(3, 5)
    scores[1, 2] = torch.nan
    with place():
        assert LOSSES[name]()(*parted(scores), Workspace()).isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("loss", [loss for loss, _ in CASES], ids=str)
def test_an_edge_whose_negatives_are_all_left_out_has_only_its_positive(place, loss):
    """What is left out has a score of -inf. Beside it an edge is as it is without it."""
    scores = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    scores[1, 1:] = -torch.inf
    (alone, others), (positive, negatives) = parted(scores[[0, 2]]), parted(scores)
    with place():
        expected, losses = loss(alone, others, Workspace()), loss(positive, negatives, Workspace())
    assert positive.isfinite().all()
    assert (negatives[1] == 0).all()
    torch.testing.assert_close(negatives[[0, 2]], others)
    torch.testing.assert_close(positive[[0, 2]], alone)
    own = 0.0 if isinstance(loss, (Softmax, Margin)) else F.softplus(-scores[1, 0] - loss.margin)
    torch.testing.assert_close(losses[1], torch.as_tensor(own), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(losses[[0, 2]], expected)
