"""Damaged and odd input to every command: `scripts/fuzz --minutes N [--seed S] [--only AREA,...]`.

A case is a pure function of (seed, number): `scripts/fuzz --case SEED:NUMBER` does it again, and says what its commands printed;
its files then stay in --keep FOLDER. A finding is a traceback (of the net in cli/main.py too), a command that does not end, a
death by signal, an exit code that is none of ours, an error of more than one line, more memory than the bound, a folder half
made, or exit code 0 with another result than without the damage. Exit code 0: no finding; 1: findings, one a line.
"""

import argparse
import gc
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"

import fuzz_inputs
import fuzz_judge
import fuzz_results
import fuzz_settings
from fuzz_judge import Command, Ended

from marius_lite.cli import main
from marius_lite.preprocess.formats import FORMATS

AREAS = [*fuzz_inputs.AREAS, *fuzz_settings.AREAS, *fuzz_results.AREAS]
BY_FUNCTION = {**fuzz_inputs.AREAS, **fuzz_settings.AREAS}
BASE = "base"
READING = ("info", "eval", "predict", "export")
LIGHT = [
    "marius_lite.preprocess.build",
    "marius_lite.preprocess.report",
    "marius_lite.preprocess.repartition",
    "marius_lite.preprocess.readers.csr_rows",
    "marius_lite.preprocess.partition.locality",
    "marius_lite.graph.verify",
    "marius_lite.graph.describe",
    "marius_lite.config.load",
    "marius_lite.estimate",
    *(place.partition(":")[0] for place in FORMATS.values()),
    *(f"marius_lite.cli.{name}" for name in main.COMMANDS),
]
HEAVY = [
    "torch._dynamo",
    "torch._inductor",
    "torch.onnx",
    "marius_lite.train.run",
    "marius_lite.tasks.evaluate_run",
    "marius_lite.export.run",
    "marius_lite.predict.links",
    "marius_lite.predict.nodes",
    "marius_lite.checkpoint.describe",
    *(["torch_geometric.nn"] if find_spec("torch_geometric") else []),
]
Results = dict[str, dict[int, dict[str, str]]]


class Fuzzer:
    """Cases in ``folder``, which is new; what they need is made first."""

    def __init__(self, folder: Path, only: list[str]):
        self.folder, self.only = folder, only
        self.base = folder / BASE
        self.base.mkdir()
        self.ended: Counter[str] = Counter()
        for module in (*LIGHT, *(HEAVY if {*only} & {*fuzz_results.AREAS} else ())):
            import_module(module)  # forks would each do it for themselves
        if {*only} & {*fuzz_results.AREAS}:
            import_module("marius_lite.nn.products").fastest_library()  # as they would time this; on the only thread there is
        gc.freeze()  # forks share these pages for good
        self.expected: Results = {}
        self._prepare()

    def _prepare(self) -> None:
        needed = fuzz_judge.in_fork(lambda: fuzz_results.make_bases(self.base))
        for arguments in needed:
            if arguments[0] == "preprocess" or {*self.only} & {"datasets", "runs"}:
                ended = fuzz_judge.run(Command(arguments), self.base)
                assert ended.code == 0, ended.err
        for area in {*self.only} & {*fuzz_results.AREAS}:
            for name in fuzz_results.SETTINGS:
                place = self.folder / "case"
                fuzz_results.copy(self.base, place)
                key = f"{area} {name}"
                self.expected[key] = {}
                for number, command in enumerate(fuzz_results.commands(area, name)):
                    ended = fuzz_judge.run(command, place)
                    assert ended.code == 0, f"{command.arguments}: {ended.err}"
                    self.expected[key][number] = fuzz_judge.result(command, ended, place)
                shutil.rmtree(place)

    def case(self, seed: int, number: int, tell: bool = False) -> list[str]:
        """What was found in one case; its files are in `folder`/case until the next."""
        rng = Random(f"{seed}:{number}")
        area, place = rng.choice(AREAS), self.folder / "case"
        if area not in self.only:
            return []
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        made = fuzz_judge.in_fork(lambda: [vars(command) for command in self._make(area, rng, place)])
        commands, found = [Command(**each) for each in made], []
        names = [name for name in fuzz_results.SETTINGS if name in " ".join(commands[0].arguments)] or [""]  # of what is damaged
        for at, command in enumerate(commands):
            ended = fuzz_judge.run(command, place)
            self.ended[f"{area}: exit code {ended.code}"] += 1
            said = fuzz_judge.finding(command, ended, place) or self._differs(area, names[0], at, command, ended)
            if tell:
                print(
                    f"$ marius-lite {' '.join(map(ascii, command.arguments))[:3000]}\n{ended.out[:2000]}{ended.err[-6000:]}"
                    f"exit code {ended.code}, {ended.grown >> 20} MB more" + (f"\nFINDING: {said}" if said else "")
                )
            if said:
                found.append(f"{seed}:{number}: {area}: {command.arguments[0]}: {said}")
            if ended.code != 0 and not (command.compared and command.arguments[0] in READING):
                break  # what follows reads what it should have made
        return found

    def _make(self, area: str, rng: Random, place: Path) -> list[Command]:
        if area in fuzz_results.AREAS:
            return fuzz_results.AREAS[area](rng, place, self.base)
        if area in fuzz_settings.AREAS:
            shutil.copytree(self.base / "links", place / "links")
        return BY_FUNCTION[area](rng, place)

    def _differs(self, area: str, name: str, at: int, command: Command, ended: Ended) -> str | None:
        if not command.compared or ended.code != 0:
            return None
        place = self.folder / "case"
        expected, result = self.expected[f"{area} {name}"][at], fuzz_judge.result(command, ended, place)
        parts = [part for part in {*expected, *result} if expected.get(part) != result.get(part)]
        return f"exit code 0, and {', '.join(sorted(parts))} is not as without the damage" if parts else None


def run(arguments: list[str]) -> int:
    """The command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, help="how long to go on")
    parser.add_argument("--cases", type=int, help="or how many cases of --only to do")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", default=",".join(AREAS), help=f"areas: {', '.join(AREAS)}")
    parser.add_argument("--case", action="append", default=[], metavar="SEED:NUMBER", help="this case alone; may be repeated")
    parser.add_argument("--keep", type=Path, help="leave the files of the last case here")
    given = parser.parse_args(arguments)
    if unknown := {*given.only.split(",")} - {*AREAS}:
        parser.error(f"--only {','.join(unknown)}: areas are {', '.join(AREAS)}")
    cases = [tuple(map(int, case.split(":"))) for case in given.case]
    only = [Random(f"{seed}:{number}").choice(AREAS) for seed, number in cases] or given.only.split(",")
    started = time.monotonic()  # what cases begin with takes part of the time, too
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        fuzzer = Fuzzer(Path(folder), only)
        found = [said for case in cases for said in fuzzer.case(*case, tell=True)] if cases else _search(fuzzer, given, started)
        if given.keep:
            shutil.copytree(fuzzer.folder / "case", given.keep, dirs_exist_ok=True)
    return 1 if found else 0


def _search(fuzzer: Fuzzer, given: argparse.Namespace, started: float) -> list[str]:
    """Cases in turn until time or their number is over; findings are printed as they come."""
    found, number, done = [], given.first, 0
    until = started + 60 * (given.minutes if given.minutes is not None else 1e9 if given.cases else 1)
    while time.monotonic() < until and (given.cases is None or done < given.cases):
        said = fuzzer.case(given.seed, number)
        done += Random(f"{given.seed}:{number}").choice(AREAS) in fuzzer.only
        number += 1
        found += said
        for line in said:
            print(line, flush=True)
    counted = ", ".join(f"{name} {count}" for name, count in sorted(fuzzer.ended.items()))
    print(
        f"{done} cases (seed {given.seed}, numbers {given.first} to {number - 1}), {len(found)} findings; {counted}",
        file=sys.stderr,
    )
    return found


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
