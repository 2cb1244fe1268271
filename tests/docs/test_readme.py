"""The README's Python runs as it stands."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_python_example_runs(tiny_edges, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.tsv").write_bytes(tiny_edges.read_bytes())
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    exec(compile(code, "README.md", "exec"), {})
    total, mrr = capsys.readouterr().out.split()[-2:]
    assert int(total) > 0
    assert 0 < float(mrr) <= 1
