import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marius_lite.checkpoint.state import Best, Cursor, State, read_state
from marius_lite.errors import UserError

counts = st.integers(0, 2**40)
states = st.builds(
    State, st.builds(Cursor, counts, counts, counts), st.text(), st.dictionaries(counts, counts), counts,
    st.floats(allow_nan=False, allow_infinity=False), counts, st.booleans(),
    st.none() | st.builds(Best, st.text(), st.floats(0, 1)), counts)


@given(state=states)
def test_every_state_comes_back_bit_by_bit(tmp_path_factory, state):
    folder = tmp_path_factory.mktemp("state")
    (folder / "state.json").write_bytes(state.to_json())
    assert read_state(folder) == state


@pytest.mark.parametrize("change", [
    lambda tree: tree.pop("cursor"), lambda tree: tree.update(more=1), lambda tree: tree.update(cursor=3),
    lambda tree: tree.update(checksums=[1]), lambda tree: tree.update(best=1)])
def test_what_is_no_state_is_refused(tmp_path, change):
    tree = json.loads(State(Cursor(), "", {}, 0).to_json())
    change(tree)
    (tmp_path / "state.json").write_text(json.dumps(tree))
    with pytest.raises(UserError, match=r"state\.json: damaged"):
        read_state(tmp_path)


def test_another_version_is_refused(tmp_path):
    tree = json.loads(State(Cursor(), "", {}, 0).to_json()) | {"version": 7}
    (tmp_path / "state.json").write_text(json.dumps(tree))
    with pytest.raises(UserError, match="checkpoint format 7"):
        read_state(tmp_path)


@pytest.mark.parametrize(("metric", "before", "value", "best"), [
    ("mrr", None, 0.0, Best("2.0.0", 0.0)), ("mrr", Best("1.0.0", 0.5), 0.5, Best("1.0.0", 0.5)),
    ("mrr", Best("1.0.0", 0.5), 0.6, Best("2.0.0", 0.6)), ("log_loss", Best("1.0.0", 0.5), 0.6, Best("1.0.0", 0.5)),
    ("log_loss", Best("1.0.0", 0.5), 0.4, Best("2.0.0", 0.4)), ("roc_auc", None, None, None),
    ("roc_auc", Best("1.0.0", 0.5), None, Best("1.0.0", 0.5))])
def test_the_best_is_the_first_of_the_best_figures(metric, before, value, best):
    after = State(Cursor(2), "", {}, 0, evaluate=True, best=before).ranked(metric, value)
    assert after == State(Cursor(2), "", {}, 0, best=best)


@pytest.mark.parametrize(("metric", "values", "since"), [("mrr", [0.1, 0.3, 0.2, 0.3], 2), ("mean_rank", [9, 8, 8, 7], 0),
                                                         ("roc_auc", [None, None, 0.1, None], 1)])
def test_evaluations_since_the_best_are_counted(metric, values, since):
    state = State(Cursor(), "", {}, 0)
    for value in values:
        state = state.measured(metric, value)
    known = [value for value in values if value is not None]
    assert (state.highest, state.since) == (min(known) if metric == "mean_rank" else max(known), since)
