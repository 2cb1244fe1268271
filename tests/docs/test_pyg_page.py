"""The code of docs/pyg.md runs as it stands there."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch_geometric", reason="the loaders need the extra `gnn`")
PAGE = Path(__file__).parents[2] / "docs" / "pyg.md"


@pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without")  # torch-sparse, which is enough here
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 8
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
    assert re.search(r"^accuracy 0\.[89]\d$", capsys.readouterr().out, re.M)
