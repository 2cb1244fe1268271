"""Numbers that stand for things of two kinds are told from those of one kind, as far as they can be."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preprocess_tools import make

from marius_lite.preprocess.gather.two_kinds import two_kinds_lines


def ratings(seed, users=90, items=240, count=6000):
    """Who rated what: a few items are rated by many."""
    rng = np.random.default_rng(seed)
    popular = 1 / np.arange(1, items + 1)
    return np.column_stack([rng.integers(1, users + 1, count), 1 + rng.choice(items, count, p=popular / popular.sum())])


def links(seed, nodes=240, count=6000):
    """Links of one kind, none from a node to itself, about a third of them in both directions."""
    rng = np.random.default_rng(seed)
    pairs = rng.integers(1, nodes + 1, (count, 2))
    pairs = np.concatenate([pairs, pairs[: count // 4, ::-1]])
    return pairs[pairs[:, 0] != pairs[:, 1]]


def warnings_of(folder, pairs, titles="", **options):
    text = f"{titles}\n" * bool(titles) + "".join(f"{a},{b}\n" for a, b in pairs)
    (folder / "e.csv").write_text(text)
    make(folder / "d", folder / "e.csv", overwrite=True, **options)
    lines = json.loads((folder / "d/report.json").read_text())["warnings"]
    return [line for line in lines if "--bipartite" in line]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ratings(tmp_path, seed):
    (line,) = warnings_of(tmp_path, ratings(seed), split="0.9,0.05,0.05")
    assert line.startswith("sources and destinations: 90 of 2")
    assert line.endswith("(such as users and items), tell them apart with --bipartite user,item")
    assert warnings_of(tmp_path, ratings(seed), bipartite="user,item") == []
    assert warnings_of(tmp_path, [(f"u{a}", f"i{b}") for a, b in ratings(seed)]) == []


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("titles", ["", "source,target", "follower_id,followee_id"])
def test_links_of_one_kind(tmp_path, seed, titles):
    assert warnings_of(tmp_path, links(seed), titles) == []


@pytest.mark.parametrize(
    ("titles", "kinds"),
    [
        ("user_id,item_id", "user,item"),
        ("userId,movieId", "user,movie"),
        ("author_id,paper_id", "author,paper"),
        ("customer,product", "customer,product"),
        ("node_id,neighbor_id", None),
        ("user_id,user_id2", None),
        ("from,to", None),
        ("payer,payee", None),
    ],
)
def test_titles_of_few_edges(tmp_path, titles, kinds):
    found = warnings_of(tmp_path, [(a, b) for a in range(1, 9) for b in range(1, 30, a)], titles, columns=titles)
    assert [line.rsplit(" ")[-1] for line in found] == ([kinds] if kinds else [])


def test_no_id_that_is_both(tmp_path):
    assert warnings_of(tmp_path, ratings(0) + np.array([0, 1000]), "user_id,item_id") == []


@given(st.integers(0, 1000), st.integers(0, 1000), st.floats(0, 1000), st.lists(st.text(), max_size=4))
def test_any_numbers(nodes, both, by_chance, titles):
    assert len(two_kinds_lines(titles, nodes + both, both, 10, by_chance)) <= 1
