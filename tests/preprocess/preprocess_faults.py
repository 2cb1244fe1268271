"""Commands of preprocess with faults: killed at some call, on a full disk."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp

import pytest
from disk_model import Disk, Folder  # noqa: F401
from faults import PATH, Faults, fault_library  # noqa: F401

CHANGES = "rename,write,pwrite,ftruncate,create,mkdir,unlink,rmdir,fsync"
SMALL = {"ids.keys.TABLE_SHARE": 200, "plan.sort_memory": 20_000, "plan.pass_memory": 30_000, "ids.numbering.MERGED_AT_ONCE": 50}


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen
    folder: Path

    def run(self, arguments, settings=SMALL, command="preprocess", **faults):
        """(exit code, or -N after signal N; what it printed)."""
        descriptor, output = mkstemp(dir=self.folder)
        os.close(descriptor)
        request = {"arguments": [command, *map(str, arguments)], "output": output, "faults": faults, "settings": settings}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        status = int(self.process.stdout.readline())
        told = Path(output).read_text()
        os.unlink(output)
        return os.waitstatus_to_exitcode(status), told


@pytest.fixture(scope="module")
def server(fault_library, tmp_path_factory):  # noqa: F811
    environment = os.environ | {"LD_PRELOAD": str(fault_library), "PYTHONPATH": PATH}
    command = [sys.executable, Path(__file__).parent / "preprocess_server.py"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield Server(process, tmp_path_factory.mktemp("told"))
        process.stdin.close()


def finished(output):
    """Seconds of the passes that are remembered, the last of which, `dataset`, is all of them together."""
    progress = output.with_name(f".{output.name}.tmp") / "progress.json"
    passes = json.loads(json.loads(progress.read_bytes())["passes"]) if progress.exists() else {}
    return {name: entry["seconds"] for name, entry in passes.items()}
