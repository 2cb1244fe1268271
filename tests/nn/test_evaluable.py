"""Without torch_geometric `plan` and `train` say the same, before anything is written."""

import pytest

from marius_lite.nn import evaluable


@pytest.mark.parametrize("command", ["plan", "train"])
def test_a_missing_library_is_told_before_anything_is_done(cli, surrounded, tmp_path, capfd, monkeypatch, command):
    monkeypatch.setattr(evaluable, "find_spec", lambda name: None)
    capfd.readouterr()
    where = ["--run", tmp_path / "run"] if command == "train" else []
    assert cli(command, surrounded, *where, "--config", "preset:plain", "--set", "model.encoder=gat") == 2
    assert capfd.readouterr().err == (
        "marius-lite: model.encoder: graph neural networks need torch_geometric, which cannot be "
        "imported (No module named 'torch_geometric'): pip install 'marius-lite[gnn]'\n"
    )
    assert not (tmp_path / "run").exists()
