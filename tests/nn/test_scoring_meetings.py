"""What is taken from scores by class and query, against autograd over the difference."""

import numpy as np
import pytest
import torch

from marius_lite.nn import scoring
from marius_lite.nn.losses import Softmax
from marius_lite.nn.scoring import Compared, SideScoring, usable_ways
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import ClassCorrection, Correction, both_sides

EDGES, CHUNKS, COUNT, DIM, CLASSES = 137, 3, 12, 6, 3


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("way", ["torch", *usable_ways(False, Softmax())])
def test_losses_and_gradients_are_those_of_scores_with_the_difference(way, shared, monkeypatch):
    monkeypatch.setattr(scoring, "CPU_TILE", 1)
    monkeypatch.setattr(scoring, "TILE_QUERIES", 7)
    rng = np.random.default_rng(4)
    generator = torch.Generator().manual_seed(5)
    sets = 1 if shared else 2
    query, positive = (torch.randn((2 * EDGES, DIM), generator=generator).requires_grad_() for _ in range(2))
    negatives = torch.randn((sets * CHUNKS, COUNT, DIM), generator=generator).requires_grad_()
    kinds = rng.integers(CLASSES, size=(sets, CHUNKS, COUNT))
    corrections = [
        Correction(
            rng.normal(size=EDGES).astype(np.float32),
            None,
            ClassCorrection(kinds[side % sets], rng.normal(size=(CLASSES, EDGES)).astype(np.float32)),
        )
        for side in range(2)
    ]
    expected = torch.zeros(())
    size = -(-(2 if shared else 1) * EDGES // CHUNKS)
    for side, correction in enumerate(corrections):
        own, its = (each.chunk(2)[side] for each in (query, positive))
        chunk = (np.arange(EDGES) + (side * EDGES if shared else 0)) // size
        answers = (own * its).sum(1) - torch.from_numpy(correction.answers)
        theirs = negatives.view(sets, CHUNKS, COUNT, DIM)[side % sets][chunk]
        taken = correction.by_class.taken[kinds[side % sets][chunk], np.arange(EDGES)[:, None]]
        others = torch.einsum("nd,nkd->nk", own, theirs) - torch.from_numpy(taken)
        expected = expected - torch.cat([answers[:, None], others], 1).log_softmax(1)[:, 0].sum()
    expected.backward()
    plain = [each.detach() for each in (query, positive)]
    sides = [Compared(own, its, None, each) for own, its, each in zip(*(part.chunk(2) for part in plain), corrections)]
    if shared:
        sides = [Compared(*plain, None, both_sides(corrections))]
    grads = SideScoring(SIMILARITIES["inner"], Softmax(), Workspace(), way)(sides, negatives.detach())
    torch.testing.assert_close(grads.loss.float(), expected.detach(), rtol=1e-4, atol=1e-4)
    for ours, theirs in [(grads.query, query.grad), (grads.positive, positive.grad), (grads.negatives, negatives.grad)]:
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
