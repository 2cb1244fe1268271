"""The code of the guides and of the tasks' pages runs as it stands there, from top to bottom; notebooks too."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "install.md", DOCS / "tutorial.md", DOCS / "concepts.md", *sorted((DOCS / "tasks").glob("*.md"))]
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs(page, cli, tmp_path, monkeypatch):
    if page.stem == "node-classification":
        pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(DOCS.parent))
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```", page.read_text(), re.M | re.S)
    assert blocks
    names = {}
    for language, code in blocks:
        if language == "python":
            exec(compile(code, str(page), "exec"), names)
        for line in code.splitlines() if language == "bash" else []:
            assert status(line, cli) == 0, line


def status(line, cli):
    """The exit code of a line of shell; the command runs in this process, which has loaded torch already."""
    words = shlex.split(line.partition(" | ")[0])
    if words[0] == "marius-lite":
        return cli(*words[1:])
    return subprocess.run(["bash", "-c", line]).returncode


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_runs(notebook, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    if "pyg" in notebook.stem:
        pytest.importorskip("torch_geometric")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(DOCS.parent), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    cells = nbformat.read(notebook, as_version=4)
    assert all(not cell.get("outputs") for cell in cells.cells), "keep no output in it"
    code = "import nbformat, nbclient, sys; nbclient.NotebookClient(nbformat.read(sys.argv[1], 4), timeout=120).execute()"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, notebook], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
