"""The recipes of the package: each one is sound, and says what a reader of it needs."""

import pytest

from marius_lite.config.presets import GraphShape, suitable
from marius_lite.errors import UserError
from marius_lite.fetch.recipes import names, parse_recipe, read_recipe

EVERY = [read_recipe(name) for name in names()]
AMPLE = 64 * 10**9  # bytes of free memory


@pytest.mark.parametrize("recipe", EVERY, ids=lambda recipe: recipe.name)
def test_the_preset_is_the_one_that_suits_the_graph(recipe):
    counts = recipe.counts
    shape = GraphShape(
        nodes=counts.nodes or counts.nodes_at_most,
        edges=counts.edges.get("train") or counts.edges.get("all") or 1 << 30,
        relations=counts.relations,
        classified=counts.classes is not None,
        available_memory=AMPLE,
    )
    assert suitable(shape)[0] == recipe.preset


@pytest.mark.parametrize("recipe", EVERY, ids=lambda recipe: recipe.name)
def test_edges_are_counted_as_published(recipe):
    assert recipe.counts.edges or recipe.note
    assert not recipe.tried  # nobody has run them against the real servers yet; docs/datasets.md says so


def test_names_are_found_whatever_their_case():
    assert read_recipe("fb15K-237").name == "FB15k-237"
    assert [recipe.name for recipe in EVERY] == names()
    with pytest.raises(UserError, match=r"FB15k-273: no such dataset: did you mean FB15k-237\?"):
        read_recipe("FB15k-273")


GOOD = {
    "name": "toy",
    "about": "a toy",
    "home": "http://h.example",
    "licence": "{name: none}",
    "files": "[{name: a.txt, urls: ['http://h.example/a']}]",
    "preprocess": "{edges: [a.txt]}",
    "counts": "{nodes: 3}",
    "preset": "kg",
}


def text(**changed):
    return "\n".join(f"{key}: {value}" for key, value in {**GOOD, **changed}.items() if value)


def test_a_recipe_of_ones_own(tmp_path):
    (tmp_path / "toy.yaml").write_text(text())
    assert read_recipe(tmp_path / "toy.yaml").name == "toy"
    with pytest.raises(UserError, match=r"none\.yaml: cannot be read"):
        read_recipe(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "../toy"}, "`name` is '../toy'"),
        ({"files": "[{name: ../a.txt, urls: ['http://h.example/a']}]"}, "`files.0.name` is '../a.txt': a file's name inside"),
        ({"files": "[{name: /a.txt, urls: ['http://h.example/a']}]"}, "`files.0.name` is '/a.txt'"),
        ({"files": "[{name: a.txt, urls: ['file:///etc/passwd']}]"}, "only http:// and https://"),
        ({"files": "[{name: a.txt, urls: []}]"}, "`files.0.urls`"),
        ({"unpack": "{b.zip: {x: y}}"}, "`unpack` names b.zip, which is none of `files`"),
        ({"unpack": "{a.txt: {x: ../y}}"}, "a file's name inside"),
        ({"convert": "[{by: ranges, to: r.npy}, {by: array_columns, sources: [s.npy], to: t.npy}]"}, "`convert` reads s.npy"),
        ({"convert": "[{by: magic, to: r.npy}]"}, "`convert.0.by` is 'magic'"),
        ({"preprocess": "{edges: [b.txt]}"}, "`preprocess` reads b.txt, which is neither"),
        ({"preprocess": "{edges: [a.txt], output: x}"}, "`preprocess` has output"),
        ({"preset": "best"}, "`preset` is 'best'"),
        ({"counts": "{nodes: 0}"}, "`counts.nodes` is 0"),
        ({"counts": "{node: 1}"}, "`counts.node` is 1"),
        ({"home": ""}, "toy.yaml: `home` is missing"),
        ({"licence": "{url: 'http://h.example'}"}, "toy.yaml: `licence.name` is missing"),
        ({"about": "[unclosed"}, "not valid YAML"),
    ],
)
def test_what_is_no_recipe_is_refused_by_its_key(changed, said):
    with pytest.raises(UserError) as raised:
        parse_recipe(text(**changed), "toy.yaml")
    assert said in str(raised.value)
    assert str(raised.value).startswith("toy.yaml: ")
    assert "\n" not in str(raised.value)
