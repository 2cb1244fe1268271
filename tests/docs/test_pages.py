"""The code of the guides and of the tasks' pages runs as it stands there, from top to bottom; notebooks too."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "install.md", DOCS / "tutorial.md", DOCS / "concepts.md", *sorted((DOCS / "tasks").glob("*.md"))]
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
WITH_US = os.pathsep.join([str(DOCS.parent), os.environ.get("PYTHONPATH", "")])
IN_JUPYTER = "knowledge_graph"  # the others are slow there, as each imports torch again


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs(page, cli, tmp_path, monkeypatch):
    if page.stem == "node-classification":
        pytest.importorskip("torch_geometric", reason="graph neural networks need the extra `gnn`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", WITH_US)
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
def test_a_notebook_has_no_output(notebook):
    nbformat = pytest.importorskip("nbformat")
    assert all(not cell.get("outputs") for cell in nbformat.read(notebook, as_version=4).cells)


@pytest.mark.parametrize("notebook", [each for each in NOTEBOOKS if each.stem != IN_JUPYTER], ids=lambda notebook: notebook.stem)
def test_the_cells_of_a_notebook_run(notebook, tmp_path, monkeypatch):
    """In this process, which has loaded torch already."""
    nbformat = pytest.importorskip("nbformat")
    if "pyg" in notebook.stem:
        pytest.importorskip("torch_geometric")
    monkeypatch.setenv("PYTHONPATH", WITH_US)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = {}
    cells = [cell.source for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    assert len(cells) >= 3
    for cell in cells:
        exec(compile(cell, str(notebook), "exec"), names)


@pytest.mark.parametrize(
    "notebook",
    [pytest.param(each, id=each.stem, marks=[] if each.stem == IN_JUPYTER else [pytest.mark.slow]) for each in NOTEBOOKS],
)
def test_a_notebook_runs(notebook, tmp_path, monkeypatch):
    pytest.importorskip("nbformat")
    if "pyg" in notebook.stem:
        pytest.importorskip("torch_geometric")
    monkeypatch.setenv("PYTHONPATH", WITH_US)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = "import nbformat, nbclient, sys; nbclient.NotebookClient(nbformat.read(sys.argv[1], 4), timeout=120).execute()"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, notebook], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
