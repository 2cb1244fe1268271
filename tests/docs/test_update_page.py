"""The code of docs/update.md runs as it stands there, and its command says what it did."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "update.md"


def test_the_page_runs(tmp_path, monkeypatch, cli, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 4
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
    update, train = (line.split() for line in re.findall(r"^    marius-lite (.*)$", PAGE.read_text(), re.M))
    assert cli(*update) == 0
    assert re.search(
        r"version 2: 200 new edges, \d+ new nodes, 1 new relation, \d+ edges removed, 1 to remove were not there",
        capsys.readouterr().out,
    )
    Path("settings.yaml").write_text("model: {decoder: distmult, dim: 16}\ntraining: {epochs: 1}\nnegatives: {count: 50}\n")
    assert cli(*train) == 0
