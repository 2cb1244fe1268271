"""The glossary of docs/design.md explains the words that classes are named with, and nothing that the code has not."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
OFTEN = 3
"""A word in the names of so many classes is explained in the glossary, or is one of the ORDINARY words."""
ORDINARY = {
    "array",
    "best",
    "check",
    "class",
    "dense",
    "disk",
    "error",
    "file",
    "host",
    "in",
    "line",
    "list",
    "memory",
    "model",
    "multi",
    "name",
    "number",
    "of",
    "on",
    "option",
    "parameter",
    "reader",
    "section",
    "shape",
    "size",
    "source",
    "training",
    "type",
    "value",
    "writer",
}


def words_of(name):
    """The words of a name in CamelCase or with underscores: lower case, singular."""
    return [singular(word.lower()) for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def singular(word):
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses")) else word[:-1] if re.search("[^su]s$", word) else word


@cache
def identifiers():
    """(names of classes, all names) that the package defines or uses; what a setting may be is a name too."""
    classes, names = set(), set()
    for path in (ROOT / "marius_lite").rglob("*.py"):
        names.add(path.stem)
        for node in ast.walk(ast.parse(path.read_text())):
            names |= {getattr(node, part) for part in ("name", "id", "attr", "arg") if isinstance(getattr(node, part, None), str)}
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                names.add(node.value)
            if isinstance(node, ast.ClassDef):
                classes.add(node.name)
    return classes, names


def glossary():
    """Each entry's words, and its meaning."""
    table = (ROOT / "docs/design.md").read_text().partition("## Words")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| (.+) \|$", table, re.M)
    return {re.sub(r"\(.*?\)", "", head).strip(): meaning for head, meaning in rows if head != "word"}


def test_words_that_classes_are_named_with_are_explained():
    places = defaultdict(set)
    for name in identifiers()[0]:
        for word in words_of(name):
            places[word].add(name)
    explained = {word for head in glossary() for word in words_of(head)}
    missing = {
        word: sorted(names)
        for word, names in places.items()
        if len(names) >= OFTEN and len(word) > 1 and word not in explained | ORDINARY
    }
    assert missing == {}, "add them to the glossary of docs/design.md, or here to ORDINARY"


def test_what_is_explained_is_in_the_code():
    classes, names = identifiers()
    known = {word for name in names for word in words_of(name)}
    gone = [head for head in glossary() if not set(words_of(head)) <= known]
    assert gone == []
    named = {name for meaning in glossary().values() for name in re.findall("`([A-Z]\\w+)`", meaning)}
    assert named - classes == set()


def test_nothing_ordinary_is_explained_or_unused():
    used = {word for name in identifiers()[0] for word in words_of(name)}
    assert ORDINARY - used == set()
    assert ORDINARY & set(glossary()) == set()


def test_names_fall_into_words():
    assert words_of("InEdgeReader") == ["in", "edge", "reader"]
    assert words_of("CudaBatches") == ["cuda", "batch"]
    assert words_of("_EdgeCheck") == ["edge", "check"]
    assert words_of("SeveralClasses") == ["several", "class"]
    assert words_of("rows_per_entry") == ["row", "per", "entry"]
