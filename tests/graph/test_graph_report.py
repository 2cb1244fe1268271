"""A report is believed only where it is one: what else stands in its file gives no warnings, and no error."""

import json

import pytest

from marius_lite.graph.report import UNKNOWN, leak_lines, read_report, write_report

TEST = {"stored": 4, "also_in_train": 1, "unseen_in_train": 2, "nodes_unseen_in_train": 3}
SOUND = {"edges": {"train": {"stored": 9}, "test": TEST}, "warnings": ["one"]}


def test_a_changed_or_missing_report_is_said(tmp_path):
    write_report(tmp_path / "report.json", SOUND)
    text = (tmp_path / "report.json").read_text()
    assert read_report(tmp_path) == SOUND
    for changed in (text.replace('"also_in_train": 1', '"also_in_train": 0'), text.replace("one", "two"), text[:-3]):
        assert changed != text
        (tmp_path / "report.json").write_text(changed)
        assert leak_lines(read_report(tmp_path)) == [UNKNOWN]
    (tmp_path / "report.json").unlink()
    assert leak_lines(read_report(tmp_path)) == [UNKNOWN]


def test_what_is_told(tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(SOUND))
    same, unseen = leak_lines(read_report(tmp_path))
    assert same.startswith("test: 1 of 4 edges stand in train too")
    assert unseen.startswith("test: 2 of 4 edges have a node or a relation that no training edge has")
    assert unseen.endswith("the model learns nothing about it (3 such nodes)")
    *_, with_features = leak_lines({**SOUND, "features": {"width": 4}})
    assert with_features == unseen.replace(" (3", ", unless an encoder reads the node's features (3")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "5",
        '{"edges": 5, "warnings": []}',
        '{"edges": {"test": 5}, "warnings": []}',
        "{}",
        '{"edges": {"test": {"stored": null}}}',
        '{"edges": {"test": {"stored": "4", "also_in_train": "1"}}, "warnings": []}',
        '{"edges": {}, "warnings": 5}',
        '{"edges": {}, "warnings": [5]}',
        '{"edges": {"test": {"also_in_train": 1}}, "warnings": []}',
    ],
)
def test_what_is_no_report(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    assert read_report(tmp_path) == {}
