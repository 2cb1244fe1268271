"""A plugin of pytest that prints a line of JSON when a test begins, and one when it has passed, failed or was skipped."""

from __future__ import annotations

import json
from typing import Any


def tell(**line: str) -> None:
    print("\n" + json.dumps(line), flush=True)  # pytest's own dots may stand before it


def pytest_runtest_logstart(nodeid: str, location: Any) -> None:
    tell(begins=nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        tell(test=report.nodeid, result=report.outcome)


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        tell(test=report.nodeid, result="failed")
