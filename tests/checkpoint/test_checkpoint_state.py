import json
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from marius_lite.checkpoint.state import BestCheckpoint, Cursor, State, read_copy, read_state
from marius_lite.errors import UserError
from marius_lite.sealed import checksum_of

counts = st.integers(0, 2**40)
states = st.builds(
    State,
    st.builds(Cursor, counts, counts, counts),
    st.text(),
    st.dictionaries(counts, counts),
    counts,
    st.floats(allow_nan=False, allow_infinity=False),
    counts,
    st.booleans(),
    st.none() | st.builds(BestCheckpoint, st.text(), st.floats(0, 1)),
    counts,
)


@given(state=states)
def test_every_state_comes_back_bit_by_bit(tmp_path_factory, state):
    assert read_state(stored(tmp_path_factory.mktemp("state"), json.loads(state.to_json()))) == state


def stored(folder, tree):
    """The checkpoint 0.0.0 or another with this state."""
    checkpoint = folder / ".".join(
        str(tree.get("cursor", {}).get(part, 0)) if isinstance(tree.get("cursor", {}), dict) else "0"
        for part in ("epoch", "step", "batch")
    )
    checkpoint.mkdir()
    (checkpoint / "state.json").write_text(json.dumps(tree))
    return checkpoint


VALUES = State(Cursor(1, 2, 3), "print", {0: 7, 1: 8}, 99, 1.25, 5, True, BestCheckpoint("1.0.0", 0.5), 0.5, 1, 6)


@given(data=st.data())
def test_any_changed_value_is_noticed(tmp_path_factory, data):
    tree = json.loads(VALUES.to_json())
    place = data.draw(
        st.sampled_from(
            [(name,) for name in tree if name not in ("cursor", "checksums", "best", "version")]
            + [("cursor", "step"), ("checksums", "1"), ("best", "value")]
        )
    )
    inner = tree
    for name in place[:-1]:
        inner = inner[name]
    value = data.draw(st.integers(0) if place[0] == "cursor" else st.integers() | st.text() | st.floats(allow_nan=False))
    assume(json.dumps(inner[place[-1]]) != json.dumps(value))
    inner[place[-1]] = value
    with pytest.raises(UserError, match=r"state\.json: damaged"):
        read_state(stored(tmp_path_factory.mktemp("state"), tree))


def test_a_cut_or_flipped_file_is_noticed(tmp_path):
    """Whatever bit it is: the state is refused, or reads as it was (a bit of white space)."""
    good = VALUES.to_json()
    (tmp_path / "1.2.3").mkdir()
    file = tmp_path / "1.2.3" / "state.json"
    for at in range(len(good)):
        for bad in (good[:at], good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :]):
            file.write_bytes(bad)
            with suppress(UserError):
                assert read_state(file.parent) == VALUES, bad


@pytest.mark.parametrize("name", ["0.0.0", "1.2.4", "1.2.3.bak", "latest"])
def test_the_state_of_another_checkpoint_is_refused(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "state.json").write_bytes(VALUES.to_json())
    with pytest.raises(UserError, match=r"it is the state of checkpoint 1\.2\.3, not of this folder"):
        read_state(tmp_path / name)
    assert read_copy(tmp_path / name) == VALUES


def test_a_state_without_its_checksum_is_refused(tmp_path):
    tree = json.loads(VALUES.to_json())
    del tree["checksum"]
    with pytest.raises(UserError, match="its checksum is wrong or missing"):
        read_state(stored(tmp_path, tree))


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.pop("cursor"),
        lambda tree: tree.update(more=1),
        lambda tree: tree.update(cursor=3),
        lambda tree: tree.update(checksums=[1]),
        lambda tree: tree.update(best=1),
    ],
)
def test_what_is_no_state_is_refused(tmp_path, change):
    tree = json.loads(State(Cursor(), "", {}, 0).to_json())
    change(tree)
    del tree["checksum"]
    with pytest.raises(UserError, match=r"state\.json: damaged: "):
        read_state(stored(tmp_path, {**tree, "checksum": checksum_of(tree)}))


def test_brackets_without_end_are_damage(tmp_path):
    (tmp_path / "state.json").write_text("[" * 100_000)
    with pytest.raises(UserError, match=r"state\.json: damaged"):
        read_copy(tmp_path)


def test_another_version_is_refused(tmp_path):
    tree = json.loads(State(Cursor(), "", {}, 0).to_json()) | {"version": 7}
    with pytest.raises(UserError, match="checkpoint format 7"):
        read_state(stored(tmp_path, tree))


@pytest.mark.parametrize(
    ("metric", "before", "value", "best"),
    [
        ("mrr", None, 0.0, BestCheckpoint("2.0.0", 0.0)),
        ("mrr", BestCheckpoint("1.0.0", 0.5), 0.5, BestCheckpoint("1.0.0", 0.5)),
        ("mrr", BestCheckpoint("1.0.0", 0.5), 0.6, BestCheckpoint("2.0.0", 0.6)),
        ("log_loss", BestCheckpoint("1.0.0", 0.5), 0.6, BestCheckpoint("1.0.0", 0.5)),
        ("log_loss", BestCheckpoint("1.0.0", 0.5), 0.4, BestCheckpoint("2.0.0", 0.4)),
        ("roc_auc", None, None, None),
        ("roc_auc", BestCheckpoint("1.0.0", 0.5), None, BestCheckpoint("1.0.0", 0.5)),
    ],
)
def test_the_best_is_the_first_of_the_best_figures(metric, before, value, best):
    after = State(Cursor(2), "", {}, 0, evaluate=True, best=before).ranked(metric, value)
    assert after == State(Cursor(2), "", {}, 0, best=best)


@pytest.mark.parametrize(
    ("metric", "values", "since"),
    [("mrr", [0.1, 0.3, 0.2, 0.3], 2), ("mean_rank", [9, 8, 8, 7], 0), ("roc_auc", [None, None, 0.1, None], 1)],
)
def test_evaluations_since_the_best_are_counted(metric, values, since):
    state = State(Cursor(), "", {}, 0)
    for value in values:
        state = state.measured(metric, value)
    known = [value for value in values if value is not None]
    assert (state.highest, state.since) == (min(known) if metric == "mean_rank" else max(known), since)
