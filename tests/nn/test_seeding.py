"""A seed gives what torch.manual_seed gives."""

import pytest
import torch

from marius_lite.nn.seeding import seed_torch


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("seed", [0, 7, (1 << 63) - 1])
def test_what_is_drawn_is_that_of_torch(device, seed):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    torch.manual_seed(seed)
    expected = torch.randn(50, device=device), torch.rand(3)
    seed_torch(seed, torch.device(device))
    assert torch.equal(torch.randn(50, device=device), expected[0])
    assert torch.equal(torch.rand(3), expected[1])
