"""Whole calls of scripts/gpu_check with a pretended GPU and parts of the test's own."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

SCRIPTS = Path(__file__).parents[1] / "scripts"
DRIVER = """
import json, os, sys, time
START = time.monotonic()
from pathlib import Path
sys.path.insert(0, {scripts!r})
from gpu_check_parts import build, calls, machine, parts
from gpu_check_parts.parts import Part
work = Path(__file__).parent
machine.find_gpu = lambda: {{"gpu": "NVIDIA Test", "driver": "1.2", "gpu_memory": "80 GB", "link": "unknown"}}
machine.source_hash = lambda root: os.environ["HASH"]
machine.missing = list
build.finds_gpu = lambda: not (work / "no_gpu").exists()
calls.LEAST = 0.1
plan = json.loads((work / "plan.json").read_text())
parts.all_parts = lambda data: [
    Part(name, phase, tuple(command or (sys.executable, "-S", str(work / "part.py"), name)))
    for name, (phase, _, _, _, *command) in plan.items()
]
sys.exit(calls.main("", sys.argv[1:], START))
"""
PART = """
import json, os, sys, time
from pathlib import Path
work, name = Path(__file__).parent, sys.argv[1]
phase, count, pause, then, *_ = json.loads((work / "plan.json").read_text())[name]
def note(text):
    with open(work / "ran", "a") as file:
        file.write(text + "\\n")
note(f"{name} {os.getpid()}")
run = (work / "ran").read_text().count(f"{name} ")
print(json.dumps({"benchmark": name.split()[0], "settings": {"run": run}}), flush=True)
for k in range(count):
    figure = {"figure": f"{name}: {k}", "value": run, "unit": "x", "goal": None, "better": "more", "detail": "", "pass": None}
    print(json.dumps(figure), flush=True)
    note(f"told {name}: {k}")
    time.sleep(pause)
print("not a figure")
if then == "hang" or then == "hang once" and run == 1:
    note(f"hangs {name}")
    time.sleep(600)
if then == "fail":
    sys.exit(f"CUDA error of {name}")
"""


class Rehearsal:
    """A folder in which calls are made; a plan says of each part its phase, its figures, the pause after each, and what then.

    Where more follows, that is the command which the part is instead.
    """

    def __init__(self, folder):
        self.folder, self.hash = folder, "a"
        self.record = folder / "records" / "of this" / "nvidia-test.jsonl"
        (folder / "driver.py").write_text(DRIVER.format(scripts=str(SCRIPTS)))
        (folder / "part.py").write_text(PART)

    def plan(self, **parts):
        usual = ["bench", 2, 0, "end"]
        self.parts = {name.replace("_then_", " "): [*more, *usual[len(more) :]] for name, more in parts.items()}
        (self.folder / "plan.json").write_text(json.dumps(self.parts))

    def start(self, *arguments):
        command = [sys.executable, "-S", self.folder / "driver.py", *(arguments or ("all",)), "--record", self.record.parent]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env={**os.environ, "HASH": self.hash}, start_new_session=True, **streams)

    def call(self, *arguments):
        process = self.start(*arguments)
        self.said, self.errors = process.communicate(timeout=120)
        assert "Traceback" not in self.errors, self.errors
        return process.returncode

    def noted(self, kind):
        text = (self.folder / "ran").read_text() if (self.folder / "ran").exists() else ""
        return [line for line in text.splitlines() if line.startswith(kind)]

    def ran(self):
        """The names of the parts that began, as often as they did."""
        return [line.rpartition(" ")[0] for line in self.noted("") if not line.startswith(("told", "hangs"))]

    def lines(self, kind, **more):
        found = []
        for text in self.record.read_text().splitlines() if self.record.exists() else ():
            line = json.loads(text)
            if line["kind"] == kind and all(line[name] == value for name, value in more.items()):
                found.append(line)
        return found

    def outcomes(self):
        return [(line["part"], line["outcome"]) for line in self.lines("end")]


def wait_until(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


def alive(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
