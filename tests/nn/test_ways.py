"""How a run's way to compute scores is chosen."""

import pytest

from marius_lite.errors import UserError
from marius_lite.nn import ways
from marius_lite.nn.losses import Logistic, Margin, Softmax
from marius_lite.nn.scoring import usable_ways


def test_every_way_is_timed_where_batches_are_large():
    found = ways.rates("float32", Softmax(), (256, 300, 64))
    assert set(found) == {*usable_ways(False, Softmax()), "torch"}
    assert all(rate > 0 for rate in found.values())
    assert ways.rates("float32", Softmax(), (4, 4, 4)) == {}


def test_the_usual_way_is_taken_unless_another_is_far_ahead(monkeypatch):
    usual, other = ways.ways("float32")[0], "torch"
    shape = (1000, 1000, 100)
    for rate, chosen in ((1.2, usual), (1.3, other), (0.5, usual)):
        monkeypatch.setattr(ways, "rates", lambda *_, rate=rate: {usual: 100.0, other: 100.0 * rate})
        assert ways.chosen_way("float32", "inner", Softmax(), shape) == chosen
    monkeypatch.setattr(ways, "rates", lambda *_: {})
    assert ways.chosen_way("float32", "inner", Softmax(), shape) == usual


@pytest.mark.parametrize(("similarity", "loss"), [("l2", Softmax()), ("inner", Logistic(temperature=0.5)), ("l1", Margin())])
def test_torch_computes_the_rest(similarity, loss):
    assert ways.chosen_way("float32", similarity, loss, (1000, 1000, 100)) == "torch"


def test_a_way_of_another_processor_is_refused():
    ways.require_way("torch", "mixed")
    ways.require_way(usable_ways(False, Softmax())[0], "float32")
    with pytest.raises(UserError, match=r"sse9.*does not have.*scoring=auto"):
        ways.require_way("sse9", "float32")


@pytest.mark.parametrize("short", [[], ["avx512_bf16"]])
def test_mixed_precision_has_the_ways_that_do_not_round_where_none_does(monkeypatch, short):
    monkeypatch.setattr(ways, "usable_ways", lambda rounds, loss: short if rounds else ["avx512", "avx2"])
    assert ways.ways("float32") == ["avx512", "avx2", "torch"]
    assert ways.ways("mixed") == [*(short or ["avx512", "avx2"]), "torch"]
    for way in (*short, "avx512", "avx2", "torch"):  # a run of another processor goes on in its own way
        ways.require_way(way, "mixed")
    with pytest.raises(UserError, match=r"amx.*does not have"):
        ways.require_way("amx", "mixed")
    with pytest.raises(UserError, match=r"does not have: it has avx512, avx2, torch"):
        ways.require_way("avx512_bf16", "float32")
