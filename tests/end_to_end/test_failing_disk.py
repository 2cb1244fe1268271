"""A disk that fails at a call, whichever, ends a command with one line that names the file; nothing is lost: what is run next
makes the same bits as if nothing had happened.
"""

import json
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from errno import EIO
from pathlib import Path

import pytest
from faults import Faults
from whole_runs import EACH_BATCH, IN_LITTLE, Program, outcome

CALLS = "open,read,pread,create,write,pwrite,ftruncate,fsync,fdatasync,rename,link,symlink,mkdir,unlink,rmdir"
COMMANDS = ["train", "resume", "eval", "preprocess", "info"]
SMALL = [*EACH_BATCH, "--set", "training.epochs=1", "--set", "training.batch_size=1500"]
FEW = 2
"""Calls that fail in the ordinary suite, of each command."""
PARTS = 40


def data_files(folder):
    """But for reports, which hold timings."""
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "report.json"
    }


@dataclass(frozen=True)
class Place:
    """A folder with raw edges, a dataset of them and a run, where nothing else is."""

    root: Path
    program: Program

    def command(self, name, **faults):
        root = self.root
        words = {
            "train": ["train", root / "dataset", "--run", root / "run", "--config", self.program.config, *SMALL],
            "resume": ["resume", root / "run"],
            "eval": ["eval", root / "run", "--split", "valid"],
            "preprocess": ["preprocess", root / "edges.tsv", "--output", root / "dataset", *IN_LITTLE],
            "info": ["info", root / "dataset", "--verify"],
        }
        return self.program.start(*words[name], **faults).wait()

    def finish(self):
        """What the run amounts to at its end."""
        return Program(self.program.address, self.root / "dataset", self.program.config).finish(self.root / "run", *EACH_BATCH)

    def before(self, name, root):
        """A copy in which the command is yet to do."""
        shutil.copytree(self.root, root, symlinks=True)
        if name in ("train", "preprocess"):
            shutil.rmtree(root / "run")
        if name == "preprocess":
            shutil.rmtree(root / "dataset")
        return Place(root, self.program)

    def go_on(self, name):
        """The same command once more, or what goes on from it, must end well."""
        if name == "train" and (self.root / "run" / "config.yaml").exists():
            name = "resume"
        code, told = self.command(name)
        assert code == 0 or (name == "preprocess" and "exists already" in told), told  # an earlier one had put it in place

    def made(self, name):
        """What the command has made."""
        if name == "eval":
            (file,) = self.root.glob("run/eval/*.valid.all.json")
            return json.loads(file.read_bytes())
        return outcome(self.root / "run") if name in ("train", "resume") else data_files(self.root / "dataset")


@pytest.fixture(scope="module")
def start(program, tiny_edges, tmp_path_factory):
    """With a run that was killed."""
    place = Place(tmp_path_factory.mktemp("start") / "place", program)
    place.root.mkdir()
    shutil.copy(tiny_edges, place.root / "edges.tsv")
    code, told = place.command("preprocess")
    assert code == 0, told
    code, told = place.command("train", KILL="rename:/checkpoints/.latest.tmp:3")
    assert code == -signal.SIGKILL, told
    return place


@pytest.fixture(scope="module")
def undisturbed(start, tmp_path_factory):
    """By command (its calls, what it makes) where nothing goes wrong."""
    found, folder = {}, tmp_path_factory.mktemp("undisturbed")
    for name in COMMANDS:
        place, trace = start.before(name, folder / name), folder / f"{name}.trace"
        code, told = place.command(name, TRACE=f"{CALLS}:{place.root}:{trace}")
        assert code == 0, told
        found[name] = Faults.read_trace(trace), place.made(name)
    return found


def harmless(call):
    """A command may do without the file by which direct I/O is tried, and without making a folder that is there."""
    return "/.direct." in call.path or call.op == "mkdir"


def wrong_where_it_fails(start, expected, name, number, folder):
    """What is wrong with a command whose call of this number fails."""
    place, trace = start.before(name, folder / f"{name}{number}"), folder / f"{name}{number}.trace"
    code, told = place.command(name, FAIL=f"{CALLS}:{place.root}:{number}:EIO", TRACE=f"{CALLS}:{place.root}:{trace}")
    failed = [call for call in Faults.read_trace(trace) if call.result == -EIO]
    wrong = []
    if failed and not (code == 0 and harmless(failed[0])):
        lines = told.splitlines()
        last = lines[-1] if lines else ""
        if code != 1 or "Traceback" in told or not last.startswith("marius-lite: ") or told.count("marius-lite: ") != 1:
            wrong.append(f"exit {code}: {told}")
        elif "Input/output error" not in last or str(place.root) not in last:
            wrong.append(f"told {last}")
    elif code != 0:
        wrong.append(f"exit {code}, though nothing failed: {told}")
    try:
        place.go_on(name)
        wrong += ["afterwards, another result"] if place.made(name) != expected else []
    except AssertionError as error:
        wrong.append(f"afterwards: {error}")
    shutil.rmtree(place.root)
    return [(name, number, *failed[:1], *wrong)] if wrong else []


def every(calls, part):
    return range(1 + part, len(calls) + 1, PARTS)


def some(calls):
    return [1 + len(calls) * (2 * k + 1) // (2 * FEW) for k in range(FEW)]


@pytest.mark.parametrize("part", [None, *(pytest.param(part, marks=pytest.mark.slow) for part in range(PARTS))])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_whose_disk_fails_at_a_call(start, undisturbed, tmp_path, name, part):
    calls, expected = undisturbed[name]
    numbers = some(calls) if part is None else every(calls, part)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda number: wrong_where_it_fails(start, expected, name, number, tmp_path), numbers))
    wrong = [str(each) for wrong in found for each in wrong]
    assert not wrong, "\n".join(wrong)
