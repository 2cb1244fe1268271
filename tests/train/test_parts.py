"""What a checkpoint keeps of the parts is all that is learned apart from rows; what is no number is told by name."""

import pytest
import torch
from open_parts import LINKS, open_parts

from marius_lite.checkpoint.dense import optimizer_state
from marius_lite.errors import NotFinite


def learn(parts, seed):
    torch.manual_seed(seed)
    for weight in parts.model.parameters():
        weight.grad = torch.rand_like(weight)
    parts.optimizer.step()


def test_another_run_goes_on_from_the_dense_state(tiny_dataset):
    with open_parts(tiny_dataset, *LINKS) as one, open_parts(tiny_dataset, *LINKS, "training.seed=1") as other:
        learn(one, 0)
        state = {name: tensor.clone() for name, tensor in one.dense_state().items()}
        assert any(name.startswith("optimizer.") for name in state)
        other.model.load_state_dict(
            {name.removeprefix("model."): tensor for name, tensor in state.items() if name.startswith("model.")}
        )
        other.optimizer.load_state_tensors(optimizer_state(state))
        for parts in (one, other):
            learn(parts, 1)
        assert one.dense_state().keys() == other.dense_state().keys()
        assert all(torch.equal(tensor, other.dense_state()[name]) for name, tensor in one.dense_state().items())


@pytest.mark.parametrize("part", ["weight", "optimizer"])
def test_what_is_not_finite_is_named(tiny_dataset, part):
    with open_parts(tiny_dataset, *LINKS) as parts:
        learn(parts, 0)
        parts.require_finite()
        if part == "weight":
            with torch.no_grad():
                parts.model.relations[1, 2] = float("inf")
        else:
            state = {name: tensor.clone() for name, tensor in parts.optimizer.state_tensors().items()}
            state["relations/sum"][1, 2] = float("nan")
            parts.optimizer.load_state_tensors(state)
        with pytest.raises(NotFinite, match=r"relations.*: a number is not finite"):
            parts.require_finite()
