"""The softmax loss and its gradient in double precision, and scores to compare by."""

import numpy as np


def assert_softmax_loss(scores, gradient, losses, slack=1e-6):
    """Hold what was computed in float32 of scores (n, 1 + k), the positives first, against the definition.

    ``slack``: relative error allowed. It grows with how far a score is below its row's highest: a difference is rounded.
    """
    scores = scores.astype(np.float64)
    highest = scores.max(1, keepdims=True)
    gap = highest - scores
    shares = np.exp(-gap)
    total = shares.sum(1)
    np.testing.assert_array_less(np.abs(losses - (np.log(total) + gap[:, 0])), slack * (1.0001 + gap[:, 0]))
    expected = shares / total[:, None]
    expected[:, 0] = -shares[:, 1:].sum(1) / total  # not its own share less 1, which is rounded
    gap[:, 0] = (highest - scores[:, 1:].max(1, initial=-np.inf, keepdims=True))[:, 0]
    allowed = (slack + 1e-7 * np.where(np.isinf(gap), 0, gap)) * np.abs(expected) + 1e-37
    assert (np.abs(gradient - expected) <= allowed).all()


def random_scores(rows, columns):
    """Scores (rows, 1 + columns), float32, of rows of different spread; some negatives are left out."""
    rng = np.random.default_rng(columns)
    scores = (rng.choice([0.1, 3, 30], (rows, 1)) * rng.standard_normal((rows, 1 + columns))).astype(np.float32)
    scores[:, 1:][rng.random((rows, columns)) < 0.1] = -np.inf
    return scores
