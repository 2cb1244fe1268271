"""Commands of the program in forks of this process, and what of their behaviour is a finding."""

import json
import os
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marius_lite.cli import main
from marius_lite.graph.report import UNKNOWN

SECONDS, LONGEST = 30, 300  # of processors, and by the clock: other programs may be at work
RSS = 320 << 20  # over what this process has before: 16 MB of --memory, and 300 MB for libraries
ADDRESSES = 6 << 30
LONGEST_ERROR = 2000
UNPRINTABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Command:
    """``arguments`` of the program; ``results``: files below the case's folder whose bytes are its result beside what it prints;
    ``compared``: whether these must be as without the damage; ``makes``: a folder that must not be there where it fails."""

    arguments: list[str]
    results: list[str] = field(default_factory=list)
    compared: bool = False
    makes: str | None = None


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code (-N: signal N, None: too long), what it printed, bytes of memory more than before."""

    code: int | None
    out: str
    err: str
    grown: int


def in_fork(work: Callable[[], Any]) -> Any:
    """What ``work`` returns (as JSON), done in a fork, so that this process keeps no threads of libraries."""
    reader, writer = os.pipe()
    if (pid := os.fork()) == 0:
        code = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "w") as stream:
                json.dump(work(), stream)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError("a case could not be made, see above")
    return json.loads(text)


def run(command: Command, folder: Path) -> Ended:
    """One command in a fork, in ``folder``, under limits."""
    out, err = folder / ".out", folder / ".err"
    before = _resident()
    if (pid := os.fork()) == 0:
        _become(command.arguments, folder, out, err)
    deadline = time.monotonic() + LONGEST
    while (ended := os.wait4(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline or _worked(pid) > SECONDS:
            os.kill(pid, signal.SIGKILL)
            os.wait4(pid, 0)
            return Ended(None, _text(out), _text(err), 0)
        time.sleep(0.005)
    return Ended(os.waitstatus_to_exitcode(ended[1]), _text(out), _text(err), max(0, ended[2].ru_maxrss * 1024 - before))


def _become(arguments: list[str], folder: Path, out: Path, err: Path) -> None:
    code = 99
    try:
        for number, path in ((0, Path(os.devnull)), (1, out), (2, err)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if number else 0), 0o644), number)
        os.chdir(folder)
        os.environ[main.TRACEBACK] = "1"  # the net under everything is a finding
        os.fsync = lambda _: None  # no power is cut, and commands would mostly wait for the disk
        limit = _size() + ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        code = main.run(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def finding(command: Command, ended: Ended, folder: Path) -> str | None:
    """Why a command's end is a finding, None where it is none. Results are compared elsewhere."""
    lines = [line for line in ended.err.replace("\r", "\n").split("\n") if line]
    if ended.code is None:
        return f"not over after {SECONDS} s of work, or {LONGEST} s"
    if "Traceback (most recent call last)" in ended.err:
        return f"traceback: {lines[-1][:200]}"
    if ended.code < 0:
        return f"killed by signal {-ended.code}"
    if ended.code not in (0, 1, 2) and not 128 < ended.code < 160:
        return f"exit code {ended.code}"
    if ended.grown > RSS:
        return f"{ended.grown >> 20} MB more memory"
    if UNPRINTABLE.search(ended.err.replace("\r", "")):
        return "control characters on standard error"
    if ended.code == 0:
        return None
    if not lines or not lines[-1].startswith("marius-lite: "):
        return f"exit code {ended.code}, and the last line is no error: {lines[-1][:200] if lines else ''}"
    if sum(line.startswith("marius-lite: ") for line in lines) > 1:
        return "an error of more than one line"
    if len(lines[-1]) > LONGEST_ERROR:
        return f"an error of {len(lines[-1])} characters"
    if "out of memory" in lines[-1]:
        return lines[-1][:200]
    if command.makes is not None and (folder / command.makes).exists():
        return f"it failed, and {command.makes} is there"
    return None


def result(command: Command, ended: Ended, folder: Path) -> dict[str, str]:
    """What a command that did not fail gave: what it printed, without the names of places and times, and its files."""
    printed = ended.out.replace(str(folder), "")
    printed = printed.replace(json.dumps([UNKNOWN]), "[]")  # said, and what it was said of is no result
    printed = re.sub(r'"(seconds|total|time)": [0-9.e-]+', "", printed)
    found = {"printed": printed}
    for pattern in command.results:
        for path in sorted(folder.glob(pattern)):
            if path.is_file():
                found[str(path.relative_to(folder))] = path.read_bytes().hex()
    return found


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "backslashreplace") if path.exists() else ""


def _worked(pid: int) -> float:
    """Seconds of processors that a process, not yet waited for, has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _size() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
