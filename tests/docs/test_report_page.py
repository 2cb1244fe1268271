"""The Python of docs/report.md runs as it stands there."""

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="reports need the extra `report`")
PAGE = Path(__file__).parents[2] / "docs" / "report.md"


def test_the_page_runs(tiny_edges, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.tsv").write_bytes(tiny_edges.read_bytes())
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.split()[-2:] == ["run/report.html", "trace.json"]
    assert (tmp_path / "run" / "report.html").stat().st_size > 50_000
