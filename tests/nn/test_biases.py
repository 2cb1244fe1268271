"""A bias is a number of the candidate's own that is added to its scores, for one side, and takes part in nothing else."""

import numpy as np
import pytest
import torch
from link_models import make_model

from marius_lite.nn.biases import FACTOR, adding_biases, without_biases
from marius_lite.nn.decoders import DECODERS, decoder_class

INNER = [name for name, entry in DECODERS.items() if entry.inner]


def rows_of(count, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((count, 8), np.float32))


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("decoder", INNER)
def test_a_score_is_the_decoders_plus_the_candidates_bias(decoder, side, reciprocal):
    plain, biased = (
        make_model(decoder, 3, 8, np.random.default_rng(1), reciprocal=reciprocal, biases=biases) for biases in (False, True)
    )
    asked, candidates, rel = rows_of(5), rows_of(7, seed=2), torch.tensor([0, 1, 2, 0, 1])
    expected = plain.scores(plain.query(without_biases(asked), rel, side), without_biases(candidates))
    expected += FACTOR * candidates[:, -2 + side]
    torch.testing.assert_close(biased.scores(biased.query(asked, rel, side), candidates), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("side", [0, 1])
def test_the_biases_of_what_is_asked_about_change_nothing(side):
    model, rows = make_model("complex", 3, 8, np.random.default_rng(1), biases=True), rows_of(5)
    other = torch.cat([rows[:, :-2], 9 * rows[:, -2:]], 1)
    rel = torch.tensor([0, 1, 2, 0, 1])
    assert torch.equal(model.query(rows, rel, side), model.query(other, rel, side))


def test_both_are_differentiable_and_leave_their_input_alone():
    rows = rows_of(4).requires_grad_()
    before = rows.detach().clone()
    for values in (without_biases(rows), adding_biases(rows, (1,))):
        (grad,) = torch.autograd.grad(values.sum(), rows)
        assert (grad == torch.tensor([1.0] * 6 + [0.0] * 2)).all()
    assert torch.equal(rows.detach(), before)


@pytest.mark.parametrize("name", DECODERS)
def test_only_decoders_of_inner_products_take_them(name):
    assert DECODERS[name].inner == (decoder_class(name).similarity == "inner")
