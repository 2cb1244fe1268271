"""A bar on a terminal; elsewhere lines, and none for what is quick."""

import logging
import sys

import pytest

from marius_lite import progress_bar as module
from marius_lite.log import on_standard_error
from marius_lite.progress_bar import progress_bar


def passed(total):
    with progress_bar("sort", "edge", total) as bar:
        for _ in range(10):
            bar.update(1000)


def test_quick_passes_say_nothing_without_a_terminal(capfd):
    with on_standard_error():
        passed(10_000)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("total", "said"), [(10_000, "sort: 10.0k of 10.0k (100%), 00:00 left, "), (None, "sort: 10.0k, ")])
def test_long_ones_are_told_by_lines(monkeypatch, caplog, total, said):
    monkeypatch.setattr(module, "EVERY", 1e-9)
    with caplog.at_level(logging.INFO, "marius_lite"):
        passed(total)
    assert len(caplog.messages) >= 10
    assert caplog.messages[-1].startswith(said)
    assert all("\r" not in line and "\n" not in line for line in caplog.messages)


def test_a_bar_on_a_terminal(monkeypatch, capfd):
    with on_standard_error():
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        passed(10_000)
    assert "sort: 100%|" in capfd.readouterr().err


def test_a_program_that_prints_no_messages_gets_no_bar(monkeypatch, capfd):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    passed(10_000)
    assert capfd.readouterr() == ("", "")
