"""What is added to scores, as more numbers of what is multiplied, against autograd over the sum."""

import numpy as np
import pytest
import torch

from marius_lite.nn.losses import Softmax
from marius_lite.nn.scoring import Compared, SideScoring, usable_ways, with_meetings, without_meetings
from marius_lite.nn.similarities import SIMILARITIES
from marius_lite.nn.workspace import Workspace
from marius_lite.types import Meetings

EDGES, COUNT, DIM, CLASSES = 9, 12, 6, 3


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("way", ["torch", *usable_ways(False, Softmax())])
def test_losses_and_gradients_are_those_of_scores_with_the_sum(way, shared):
    rng = np.random.default_rng(4)
    table = np.log(rng.random((CLASSES, CLASSES)) + 0.1).astype(np.float32)
    known = rng.integers(CLASSES, size=(2, EDGES))
    drawn = rng.integers(CLASSES, size=(1 if shared else 2, 1, COUNT))
    generator = torch.Generator().manual_seed(5)
    query, positive = (torch.randn((2 * EDGES, DIM), generator=generator).requires_grad_() for _ in range(2))
    negatives = torch.randn((len(drawn), COUNT, DIM), generator=generator).requires_grad_()
    expected = torch.zeros(())
    for side in range(2):
        own, its = (each.chunk(2)[side] for each in (query, positive))
        some = 0 if shared else side
        answers = (own * its).sum(1) + torch.from_numpy(table[known[side], known[1 - side]])
        others = own @ negatives[some].T + torch.from_numpy(table[known[side]][:, drawn[some, 0]])
        expected = expected - torch.cat([answers[:, None], others], 1).log_softmax(1)[:, 0].sum()
    expected.backward()
    plain = [each.detach() for each in (query, positive)]
    sides = [Compared(*plain)] if shared else [Compared(*pair) for pair in zip(*(each.chunk(2) for each in plain))]
    added = with_meetings(sides, negatives.detach(), Meetings(known.reshape(-1), drawn, table))
    grads = without_meetings(SideScoring(SIMILARITIES["inner"], Softmax(), Workspace(), way)(*added), DIM)
    torch.testing.assert_close(grads.loss.float(), expected.detach(), rtol=1e-4, atol=1e-4)
    for ours, theirs in [(grads.query, query.grad), (grads.positive, positive.grad), (grads.negatives, negatives.grad)]:
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
