"""The code of docs/databases.md runs as it stands there, and prints what it says."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch_geometric", reason="the page shows a HeteroData, which needs the extra `gnn`")
PAGE = Path(__file__).parents[2] / "docs" / "databases.md"


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S))
    exec(compile(code, str(PAGE), "exec"), {})
    said = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.M)
    assert len(said) == 3
    assert capsys.readouterr().out.splitlines() == said
    assert (tmp_path / "hub" / "README.md").exists()
