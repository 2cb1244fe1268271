"""Results as a person reads them, and as a program does."""

import json

import pytest

from marius_lite.cli.output import show

SHOWN = {
    "text": ("a\nb", "a\\nb"),
    "share": (0.51239, "0.5124"),
    "whether": (True, "yes"),
    "not": (False, "no"),
    "unknown": (None, "none"),
    "list": (["400.0.0", "500.0.0"], "400.0.0, 500.0.0"),
    "numbers": ((128, 64), "128, 64"),
    "nothing": ([], "none"),
    "long list": (list(range(9)), "9 (--json lists them)"),
    "facts": ({"width": 3, "found": False}, "width 3, found no"),
    "several": ([{"name": "a", "size": 1}, {"name": "b", "size": 2}], "name a, size 1; name b, size 2"),
}


@pytest.mark.parametrize(("value", "text"), SHOWN.values(), ids=list(SHOWN))
def test_a_line_for_each_fact(capsys, value, text):
    show({"key": value, "longer": 1}, as_json=False)
    assert capsys.readouterr().out == f"key     {text}\nlonger  1\n"


@pytest.mark.parametrize("value", [value for value, _ in SHOWN.values()], ids=list(SHOWN))
def test_json_has_values_as_they_are(capsys, value):
    show({"key": value}, as_json=True)
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps({"key": value}))
