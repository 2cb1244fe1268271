"""Where scores are corrected for how often partitions meet."""

import pytest
from test_resolve import facts

from marius_lite.config.load import load
from marius_lite.config.resolve import resolve
from marius_lite.errors import UserError

GRAPH = facts(partitions=8, rows=1000, edges_per_bucket=500)
OUT_OF_CORE = "storage.capacity=2"


@pytest.mark.parametrize(
    ("sets", "balances"),
    [([], True), (["negatives.balance=false"], False), (["loss.name=logistic"], False), (["model.decoder=rotate"], False)],
)
def test_it_is_on_where_logarithms_of_chances_can_be_added(sets, balances):
    config, _ = resolve(load(sets=[OUT_OF_CORE, *sets]), GRAPH)
    assert config.negatives.balance is balances


@pytest.mark.parametrize("setting", ["loss.name=margin", "model.decoder=transe"])
def test_it_cannot_be_asked_for_elsewhere(setting):
    with pytest.raises(UserError, match=r"`negatives.balance` is true, which is for loss softmax and decoders .*dot"):
        load(sets=["negatives.balance=true", setting])


def test_memory_is_counted_out_of_core_alone():
    def workspace(*sets):
        return resolve(load(sets=[*sets, "model.dim=50"]), GRAPH)[1].workspace

    more = workspace(OUT_OF_CORE, "negatives.balance=true") - workspace(OUT_OF_CORE, "negatives.balance=false")
    queries, negatives = 2 * 15_000, 2 * 10 * 1000
    rows = more - 2 * (queries * 20 + negatives * 32)
    assert 0 < rows < 2 * GRAPH.nodes  # two bytes of each row of the buffer, out of core
    assert workspace("negatives.balance=true") == workspace("negatives.balance=false")
