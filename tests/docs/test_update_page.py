"""The code of docs/update.md runs as it stands there, and its command says what it did."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "update.md"


def test_the_page_runs(tmp_path, monkeypatch, cli, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 3
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
    command = re.search(r"^    marius-lite (update .*)$", PAGE.read_text(), re.M)[1].split()
    assert cli(*command) == 0
    assert re.search(
        r"version 2: 200 new edges, \d+ new nodes, 1 new relations, \d+ edges removed, 1 to remove were not there",
        capsys.readouterr().out,
    )
