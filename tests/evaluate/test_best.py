"""The best candidates are those of a stable sort, however they come in tiles, and whatever is left out."""

from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from no_waits import NoWaits
from pretended_gpu import pretended_gpu

from marius_lite.evaluate.best import BestAnswers

FEW = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1e-40, 0.25, 2.0, np.inf])
SCORES = arrays(np.float32, (3, 24), elements=FEW | st.floats(-4, 4, width=32))
NOTHING = (torch.empty(0, dtype=torch.int64),) * 2


@contextmanager
def gpu_without_waits():
    """Tensors say that they are on a GPU, and nothing may wait for it."""
    with pretended_gpu(None), NoWaits():
        yield


@pytest.mark.parametrize("place", [nullcontext, gpu_without_waits])
@settings(deadline=None)
@given(SCORES, st.integers(1, 30), st.lists(st.integers(1, 23), max_size=4, unique=True))
def test_tiles_do_not_matter(place, scores, k, cuts):
    with place():
        best = BestAnswers(3, k, torch.device("cpu"))
        for low, high in zip([0, *sorted(cuts)], [*sorted(cuts), 24]):
            best.add(0, 3, torch.from_numpy(scores[:, low:high].copy()), torch.arange(low, high) + 100, NOTHING)
    for row, (nodes, found) in enumerate(zip(best.nodes.tolist(), best.scores.tolist())):
        there = [place for place in range(24) if scores[row, place] > -np.inf]
        expected = sorted(there, key=lambda place: -scores[row, place])[:k]
        assert nodes == [100 + place for place in expected] + [-1] * (k - len(expected))
        assert found[: len(expected)] == scores[row, expected].tolist()


@pytest.mark.parametrize("k", [1, 5])
def test_what_is_left_out_is_no_answer(k):
    best = BestAnswers(1, k, torch.device("cpu"))
    best.add(0, 1, torch.tensor([[3.0, 2.0, 1.0]]), torch.arange(3), (torch.tensor([0]), torch.tensor([0])))
    assert best.nodes[0].tolist() == [1, 2, -1, -1, -1][:k]


@pytest.mark.parametrize(
    "work",
    [
        lambda scores: float(scores.max()),
        lambda scores: scores[scores > 0],
        lambda scores: scores.__setitem__((slice(None), scores[0] > 0), -torch.inf),
        lambda scores: scores.__setitem__((torch.arange(2), torch.arange(2)), -torch.inf),
        lambda scores: bool((scores > 0).any()),
    ],
)
def test_a_wait_is_seen(work):
    with pytest.raises(AssertionError, match=r"waited for|are true|is sent"), NoWaits():
        work(torch.ones(2, 3))
