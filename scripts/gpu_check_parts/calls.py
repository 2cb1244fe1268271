"""A call of gpu_check: which parts it runs, until when, and what it says at the end."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from gpu_check_parts import build, machine, parts
from gpu_check_parts.parts import PHASES, Part
from gpu_check_parts.record import Found, Record, describe, found_of, proven
from gpu_check_parts.refused import Refused
from gpu_check_parts.sources import NOT_HASHED

LIMIT, TIME = 470.0, 570.0
LEAST = 5.0
"""Seconds that must be left for a part to begin."""
BUILD = "build"


def seconds(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text}: more than 0 seconds are needed")
    return value


def arguments(doc: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpu_check", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("phases", nargs="*", metavar="PHASE", help=f"{', '.join(PHASES)} or all")
    parser.add_argument("--data", type=Path, help="folder with train.txt, valid.txt, test.txt of FB15k-237")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="of the parts: run it, again too; may be given several times"
    )
    parser.add_argument("--limit", type=seconds, default=LIMIT, help="seconds of one part (default: %(default)g)")
    parser.add_argument("--time", type=seconds, default=TIME, help="seconds of the whole call (default: %(default)g)")
    parser.add_argument("--record", type=Path, default=machine.ROOT / "docs/gpu_check", help="folder of the records")
    return parser


def chosen(a: argparse.Namespace) -> list[Part]:
    """The parts that are asked for, in the order in which they run, also those that cannot run here."""
    unknown = [name for name in a.phases if name not in (*PHASES, "all")]
    if unknown:
        raise Refused(f"{unknown[0]}: no phase is called so; there are {', '.join(PHASES)} and all")
    if not a.phases and not a.only:
        raise Refused(f"a phase is needed: {', '.join(PHASES)} or all")
    phases = PHASES if "all" in a.phases or not a.phases else a.phases
    every = parts.all_parts(a.data)
    asked = [part for part in every if part.phase in phases and (not a.only or any(map(part.is_called, a.only)))]
    for name in a.only or ():
        if not any(part.is_called(name) for part in asked):
            raise Refused(f"{name}: no such part of {', '.join(phases)}; there are {', '.join(part.name for part in every)}")
    lacking = [f"{part.name}: {part.lacks}" for part in asked if part.lacks]
    if lacking and (a.only or len(lacking) == len(asked)):
        raise Refused("; ".join(lacking))
    return asked


def main(doc: str | None, given: list[str], start: float) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what runs is ended too
    a = arguments(doc).parse_args(given)
    try:
        asked = chosen(a)
        gpu = machine.find_gpu()
        if gpu is None:
            raise Refused("no NVIDIA GPU here (nvidia-smi finds none): run this on a machine that has one")
        record = Record(a.record, gpu["gpu"])
    except (Refused, OSError) as error:
        print(f"gpu_check: {error}", file=sys.stderr)
        return 2
    facts = machine.facts_of(gpu)
    left_out = [f"{part.name}: left out: {part.lacks}" for part in asked if part.lacks]
    for line in [*machine.missing(), *left_out, *(f"{name}: {value}" for name, value in facts.items())]:
        print(line, flush=True)
    asked = [part for part in asked if not part.lacks]
    left = run(asked, record, facts, a, start + a.time)
    return conclude(asked, left, record, facts, bool(a.only))


def run(asked: list[Part], record: Record, facts: dict[str, str], a: argparse.Namespace, deadline: float) -> list[Part]:
    """Run what has not ended yet, and all that is named by --only; the parts that the time was too short for."""
    found = found_of(record.lines(), facts["hash"])
    waiting = [part for part in asked if a.only or not over(part, found.get(part.name, Found()))]
    for part in asked:
        if part not in waiting:
            print(f"--- {part.name}: {found[part.name].outcome} already", flush=True)
    while waiting and deadline - time.monotonic() >= LEAST:
        part = waiting[0]
        if part.name != BUILD and any(each.name == BUILD for each in asked) and not built(record, facts):
            break
        print(f"--- {part.name}", flush=True)
        outcome = parts.run_part(part, record, facts, a.limit, deadline)
        print(f"--- {part.name}: {outcome}", flush=True)
        found = found_of(record.lines(), facts["hash"])
        record.write_page(describe(facts, found))
        if not found[part.name].ended:
            break
        waiting.pop(0)
    return waiting


def over(part: Part, found: Found) -> bool:
    """Whether it need not run again. What was built elsewhere, or is gone, is built again."""
    return found.ended and not (part.name == BUILD and found.done and not build.finds_gpu())


def built(record: Record, facts: dict[str, str]) -> bool:
    return found_of(record.lines(), facts["hash"]).get(BUILD, Found()).done


def conclude(asked: list[Part], left: list[Part], record: Record, facts: dict[str, str], only: bool) -> int:
    """Say how it stands; the exit code."""
    found = found_of(record.lines(), facts["hash"])
    page = record.write_page(describe(facts, found))
    states = {part.name: found[part.name].outcome for part in asked if part not in left}
    failed = {name: outcome for name, outcome in states.items() if outcome != "done"}
    for name, outcome in failed.items():
        print(f"{name}: {outcome}; to run it again: --only '{name}'")
    if proven(found):
        print(f'proven on this GPU: "{facts["gpu"]}" belongs into GPUS of {NOT_HASHED}')
    print(f"record: {page}")
    if left and failed.get(BUILD):
        print(f"without the build nothing else was begun: {', '.join(part.name for part in left)}")
        return 1
    if left:
        goes_on = "to go on: " + " ".join(f"--only '{part.name}'" for part in left) if only else "the same command goes on"
        print(f"time was up; left: {', '.join(part.name for part in left)}; {goes_on}")
        return 3
    return 1 if failed else 0
