"""What was found on a GPU: lines that are only ever appended, and a page for readers that is made from them.

Every line has a ``kind``, the ``hash`` of the sources and the ``part`` that it is of:

begin     a part begins; with what is known of the machine
settings  what a benchmark's figures depend on
figure    one figure, the newest of a name counts
test      one test, and whether it passed
end       a part has ended: its ``outcome``, its seconds, its tests passed, failed and skipped

The outcome is "done", "failed: why", "time was up" (the part's own), or "cut" (the time of the whole call was up).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CUT = "cut"
AGREEMENT = "gpu_agreement"
ON_GPU, COMPILED, CHECKED = ("test_library", "test_gpu"), "test_compiled", ("memcheck", "racecheck")

Line = dict[str, Any]


class Record:
    """The lines of one GPU, in a folder. Nothing is ever taken away; a line that was torn by a power cut is passed over."""

    def __init__(self, folder: Path, gpu: str):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / (re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-") + ".jsonl")
        if self.path.exists() and self.path.stat().st_size and self.path.read_bytes()[-1:] != b"\n":
            self._append(b"\n")

    def add(self, line: Line) -> None:
        """On the disk when this returns."""
        self._append(json.dumps(line).encode() + b"\n")

    def lines(self) -> list[Line]:
        found = []
        for text in self.path.read_bytes().split(b"\n") if self.path.exists() else ():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                found.append(line)
        return found

    def write_page(self, text: str) -> Path:
        """The page for readers, whole or not at all."""
        page, making = self.path.with_suffix(".md"), self.path.with_suffix(".md.new")
        with open(making, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        making.replace(page)
        return page

    def _append(self, data: bytes) -> None:
        with open(self.path, "ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


@dataclass
class Found:
    """What is known of a part: of its newest run, and the newest figure of every name."""

    end: Line | None = None
    figures: dict[str, Line] = field(default_factory=dict)
    newest: set[str] = field(default_factory=set)
    """Figures of the newest run."""
    tests: dict[str, str] = field(default_factory=dict)

    def take(self, line: Line) -> None:
        if line["kind"] == "begin":
            self.end, self.newest, self.tests = None, set(), {}
        elif line["kind"] == "figure":
            self.figures[line["figure"]] = line
            self.newest.add(line["figure"])
        elif line["kind"] == "test":
            note_test(self.tests, line)
        elif line["kind"] == "end":
            self.end = line

    @property
    def ended(self) -> bool:
        """Whether it need not run again: it was neither killed nor cut."""
        return self.end is not None and self.end["outcome"] != CUT

    @property
    def outcome(self) -> str:
        return self.end["outcome"] if self.end else "not ended"

    @property
    def done(self) -> bool:
        return self.outcome == "done"


def note_test(tests: dict[str, str], line: Line) -> None:
    """A test may be told twice, as its call and its end are; one that failed stays so."""
    if tests.get(line["test"]) != "failed":
        tests[line["test"]] = line["result"]


def counts(tests: dict[str, str]) -> dict[str, int]:
    """Tests passed, failed and skipped."""
    return {f"tests {result}": list(tests.values()).count(result) for result in ("passed", "failed", "skipped")}


def found_of(lines: Iterable[Line], source_hash: str) -> dict[str, Found]:
    """By part, in the order in which they first began, for one state of the sources."""
    found: dict[str, Found] = {}
    for line in lines:
        if line.get("hash") == source_hash and "part" in line and "kind" in line:
            found.setdefault(line["part"], Found()).take(line)
    return found


def proven(found: dict[str, Found]) -> bool:
    """Whether all tests passed, and training agreed in every way."""
    tested = all(name in found and found[name].done for name in (*ON_GPU, COMPILED))
    on_gpu = tested and all(found[name].end["tests passed"] for name in ON_GPU)
    checked = all(found[name].done for name in CHECKED if name in found)
    trained = found.get(AGREEMENT, Found())
    passed = [trained.figures[name]["pass"] for name in trained.newest]
    return on_gpu and checked and trained.done and any(passed) and False not in passed


def columns(figure: Line) -> tuple[str, str, str, str, str]:
    """(figure, value, goal, pass or MISS, detail)."""
    goal = "" if figure["goal"] is None else f"{'≥' if figure['better'] == 'more' else '≤'} {figure['goal']:g}"
    verdict = "" if figure["pass"] is None else "pass" if figure["pass"] else "MISS"
    return figure["figure"], f"{figure['value']:,.4g} {figure['unit']}".strip(), goal, verdict, figure["detail"]


def describe(facts: dict[str, str], found: dict[str, Found]) -> str:
    """The page for readers."""
    lines = [f"# {facts['gpu']}", "", "| | |", "|---|---|", *(row(pair) for pair in facts.items())]
    for name, part in found.items():
        lines += ["", f"## {name}", "", f"- outcome: {part.outcome}"]
        told = part.end or counts(part.tests) if part.tests or part.end else {}
        lines += [f"- {key}: {value}" for key, value in told.items() if key not in ("kind", "hash", "part", "outcome", "at")]
        lines += [f"- {result}: {test}" for test, result in part.tests.items() if result == "failed"]
        if part.figures:
            lines += ["", "| figure | value | goal | | |", "|---|---|---|---|---|"]
            lines += [row(columns(figure)) for figure in part.figures.values()]
    return "\n".join(lines) + "\n"


def row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
