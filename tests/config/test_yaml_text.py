"""Whatever PyYAML raises is one line."""

import pytest

from marius_lite.config.load import load
from marius_lite.config.yaml_text import parse_yaml, shown
from marius_lite.errors import UserError

WRONG = [
    "9" * 5000,
    "2001-99-99",
    "[" * 5000,
    "!!int ''",
    "!!bool x",
    "!!timestamp x",
    "{a: *b}",
    "a: b: c",
    "!!python/name:os.system",
]


@pytest.mark.parametrize("text", WRONG)
def test_wrong_text(text, tmp_path):
    with pytest.raises(ValueError, match=r"\w") as raised:
        parse_yaml(text)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300
    with pytest.raises(UserError, match=r"--set training.epochs=.*: not a valid value"):
        load(sets=[f"training.epochs={text}"])
    (tmp_path / "c.yaml").write_text(f"training: {{epochs: {text}}}")
    with pytest.raises(UserError, match=r"c\.yaml: not valid YAML: "):
        load(tmp_path / "c.yaml")


def test_values_are_shown_in_few_words():
    many = parse_yaml(
        "[&a [1, 1, 1, 1, 1, 1, 1, 1, 1], "
        + ", ".join(f"&{n} [*{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}]" for p, n in zip("abcdefghijk", "bcdefghijkl"))
        + "]"
    )
    assert len(shown(many)) < 10_000
    assert len(shown("x" * 10_000)) < 300
    assert shown(int("f" * 5000, 16)) == "an integer beyond all bounds"
    with pytest.raises(UserError, match=r"`training.epochs` is an integer beyond"):
        load(values={"training": {"epochs": -int("f" * 5000, 16)}})
