"""The softmax loss of training, on a GPU: call by call and in a graph."""

import numpy as np
import pytest
import torch
from softmax_definition import assert_softmax_loss, random_scores

from marius_lite.device.graphs import Captures
from marius_lite.device.library import LIBRARY
from marius_lite.nn.losses import Softmax
from marius_lite.nn.workspace import Workspace

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("columns", [1000, 5000])
def test_softmax_loss_in_a_graph_has_the_same_bits(columns):
    """Once outside, once as the graph is captured, then as it is launched again; the scores are put back each time."""
    if not LIBRARY.exists() or not torch.cuda.is_available():
        pytest.skip("no GPU, or built without CUDA")
    scores = torch.from_numpy(random_scores(1001, columns)).cuda()
    positive, negatives, workspace = scores[:, 0].clone(), scores[:, 1:].clone(), Workspace()

    def work() -> torch.Tensor:
        positive.copy_(scores[:, 0])
        negatives.copy_(scores[:, 1:])
        return Softmax()(positive, negatives, workspace)

    def got(losses: torch.Tensor) -> list[np.ndarray]:
        torch.cuda.synchronize()
        return [each.cpu().numpy() for each in (losses, positive, negatives)]

    expected = got(work())
    assert_softmax_loss(scores.cpu().numpy(), np.concatenate([expected[1][:, None], expected[2]], 1), expected[0], slack=4e-6)
    losses, repeat = Captures()(work, ())
    for _ in range(3):
        assert [each.tobytes() for each in got(losses)] == [each.tobytes() for each in expected]
        for each in (losses, positive, negatives):
            each.zero_()
        repeat()
    assert [each.tobytes() for each in got(losses)] == [each.tobytes() for each in expected]
