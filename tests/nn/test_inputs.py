"""Features are scaled to magnitudes that sum to 1, learned numbers beside them stay as they are."""

import torch

from marius_lite.nn.inputs import normalized


def test_features_alone_are_scaled():
    x = torch.tensor([[2.0, -6.0, 5.0], [0.0, 0.0, -3.0]], requires_grad=True)
    found = normalized(x, 2)
    assert found.tolist() == [[0.25, -0.75, 5.0], [0.0, 0.0, -3.0]]
    found[:, 2].sum().backward()
    assert x.grad.tolist() == [[0, 0, 1], [0, 0, 1]]
    assert normalized(x, 0) is x
    torch.testing.assert_close(normalized(x.detach()[:1], 3).abs().sum(1), torch.ones(1))
