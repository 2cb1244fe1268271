"""The code of docs/search.md runs as it stands there, and so do its commands."""

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("faiss", reason="an index needs the extra `search`")
PAGE = Path(__file__).parents[2] / "docs" / "search.md"


def test_the_page_runs(tmp_path, monkeypatch, capsys, cli):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
    assert re.search(r"^flat 1\.0 1\.0$", capsys.readouterr().out, re.M)
    commands = [line for line in re.findall(r"^    marius-lite (.*?) +#", text, re.M) if "--type" not in line]
    assert len(commands) == 5
    for command in commands:
        assert cli(*shlex.split(command)) == 0
    assert len(capsys.readouterr().out.splitlines()) > 40
