"""The parts: what runs in a process of its own, and what it told."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gpu_check_parts.machine import BENCH, ROOT, TRAINING, absent_of, environment, program
from gpu_check_parts.process import follow
from gpu_check_parts.record import AGREEMENT, COMPILED, CUT, ON_GPU, Line, Record, columns, counts, note_test

PHASES = ("build", "test", "agree", "bench", "train")
TIME_UP = "time was up"
BENCHMARKS = {
    "gpu_gather": [],
    "gpu_gather sweep": ["--sweep", "--buffer", "4GiB", "--transfer", "512MiB"],
    "gpu_paths": ["--table", "1GiB"],
    "gpu_overlap": [],
    "gpu_pin": [],
    "gpu_gnn": [],
    "gpu_link_prediction": ["--part", "speed", "--batches", "50"],
    "gpu_link_prediction disk": ["--part", "disk", "--disk-nodes", "4000000", "--disk-edges", "40000000"],
}
FB15K, PROFILE = "gpu_fb15k", "gpu_profile"
LIBRARY_TESTS, COMPILER_TESTS = "tests/cuda/test_on_gpu.py", "tests/cuda/test_compiled.py"
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "gpu_check_parts.told_tests")
FOUND_ERRORS, SUMMARY = 9, " SUMMARY: "
"""How compute-sanitizer ends, and what stands in the line that says how much it found."""
LONGEST = 300
"""Characters of what a part said last that are kept where it failed."""


@dataclass(frozen=True)
class Part:
    """Work that runs in a process of its own."""

    name: str
    phase: str
    command: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    on_gpu: bool = False
    """It is tests, of which one must pass."""
    lacks: str = ""
    """Why it cannot run here."""

    def is_called(self, name: str) -> bool:
        return name in (self.name, self.name.split()[0])


def all_parts(data: Path | None) -> list[Part]:
    """In the order in which they run."""
    build = Part("build", "build", (sys.executable, "-m", "gpu_check_parts.build"))
    benchmarks = [_benchmark(name, "bench", *more) for name, more in BENCHMARKS.items()]
    given = ("--data", str(data.resolve())) if data else ()
    benchmarks.append(_benchmark(PROFILE, "bench", *given))
    if data:
        train = _benchmark(FB15K, "train", "--data", str(data.resolve()))
    else:
        train = Part(FB15K, "train", (), lacks="--data is not given")
    return [build, *_tests(), _benchmark(AGREEMENT, "agree"), *benchmarks, train]


def _benchmark(name: str, phase: str, *more: str) -> Part:
    return Part(name, phase, (sys.executable, str(BENCH / f"{name.split()[0]}.py"), "--json", *more))


def _tests() -> list[Part]:
    library, on_gpu = ON_GPU
    absent = absent_of(TRAINING)
    rest = ("-m", "gpu", f"--ignore={LIBRARY_TESTS}", "tests/cuda", "tests/device")
    return [
        Part(library, "test", (*PYTEST, "-m", "gpu", LIBRARY_TESTS), on_gpu=True),
        Part(on_gpu, "test", (*PYTEST, *rest), on_gpu=True, lacks=f"missing: {', '.join(absent)}" if absent else ""),
        Part(COMPILED, "test", (*PYTEST, COMPILER_TESTS)),
        # Errors that the tests provoke are reported by calls, not by memory; a cache of blocks would hide what lies beside them.
        _sanitized("memcheck", "--report-api-errors", "no"),
        _sanitized("racecheck"),
    ]


def _sanitized(tool: str, *more: str) -> Part:
    sanitizer = program("compute-sanitizer")
    command = (sanitizer or "", "--tool", tool, *more, "--error-exitcode", str(FOUND_ERRORS), *PYTEST, "-m", "gpu", LIBRARY_TESTS)
    lacks = "" if sanitizer else "compute-sanitizer is not installed"
    return Part(tool, "test", command, {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, on_gpu=True, lacks=lacks)


class Told:
    """What a part says, line by line: figures and tests go to the record at once, all else to standard error."""

    def __init__(self, add: Callable[[Line], None]):
        self.add = add
        self.benchmark = self.failed = self.detail = self.last = self.running = ""
        self.tests: dict[str, str] = {}

    def out(self, text: str) -> None:
        line = _object(text)
        if "figure" in line:
            self.add({**line, "kind": "figure", "benchmark": self.benchmark})
            print("  {:<62} {:>20}  {:<8} {:<5} {}".format(*columns(line)).rstrip(), flush=True)
        elif "settings" in line:
            self.benchmark = line["benchmark"]
            self.add({**line, "kind": "settings"})
        elif "test" in line:
            self.add({**line, "kind": "test"})
            note_test(self.tests, line)
        elif "begins" in line:
            self.running = line["begins"]
        elif line:
            self.failed, self.detail = line.get("failed", self.failed), line.get("detail", self.detail)
        elif text.strip():
            self.detail = text.strip("= ") if SUMMARY in text else self.detail
            print(text, file=sys.stderr, flush=True)

    def err(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)
        self.last = text.strip().rpartition("\r")[2][:LONGEST] or self.last

    def outcome(self, part: Part, code: int) -> str:
        """Of a part that ended by itself."""
        bad = counts(self.tests)["tests failed"]
        why = []
        if self.failed:
            why = [self.failed]
        elif code == FOUND_ERRORS and part.variables:
            why = [f"{part.name} found errors"]
        elif code and not bad:
            why = [f"exit code {code}" if code > 0 else f"killed by signal {-code}", *filter(None, [self.last])]
        why += [f"{bad} tests failed"] if bad else []
        why += ["no test ran on the GPU"] if part.on_gpu and not counts(self.tests)["tests passed"] else []
        return f"failed: {'; '.join(why)}" if why else "done"


def _object(text: str) -> Line:
    """The JSON object that a line is; empty where it is none."""
    try:
        line = json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


def run_part(part: Part, record: Record, facts: dict[str, str], limit: float, deadline: float) -> str:
    """Run it, at most ``limit`` seconds and until ``deadline`` of the monotonic clock, into the record; its outcome."""

    def add(line: Line) -> None:
        record.add({**line, "hash": facts["hash"], "part": part.name})

    print("+", *part.command, file=sys.stderr, flush=True)
    told, start = Told(add), time.monotonic()
    add({"kind": "begin", **facts, "at": time.strftime("%Y-%m-%dT%H:%M:%S")})
    code = follow(part.command, environment(**part.variables), ROOT, min(start + limit, deadline), told.out, told.err)
    too_long = TIME_UP if start + limit <= deadline else CUT
    outcome = too_long if code is None else told.outcome(part, code)
    tests = counts(told.tests) if told.tests or part.on_gpu else {}
    more = {"detail": told.detail} if told.detail else {}
    if told.running and told.running not in told.tests:
        more["ended in"] = told.running
    seconds = round(time.monotonic() - start, 1)
    add({"kind": "end", "outcome": outcome, "seconds": seconds, **tests, **more, "at": time.strftime("%Y-%m-%dT%H:%M:%S")})
    return outcome
