"""Without torch_geometric our own encoders train; of its models `plan` and `train` say the same, before anything is written."""

import sys

import pytest


@pytest.fixture
def without(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "torch_geometric"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)


@pytest.mark.parametrize("command", ["plan", "train"])
def test_a_missing_library_is_told_before_anything_is_done(cli, surrounded, tmp_path, capfd, without, command):
    capfd.readouterr()
    where = ["--run", tmp_path / "run"] if command == "train" else []
    assert cli(command, surrounded, *where, "--config", "preset:plain", "--set", "model.encoder=torch_geometric.nn:GIN") == 2
    found = capfd.readouterr().err
    assert found.startswith(
        "marius-lite: model.encoder: torch_geometric.nn:GIN needs torch_geometric, which cannot be imported ("
    )
    assert found.endswith("pip install 'marius-lite[gnn]'\n")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("encoder", ["sage", "gcn", "gat", "rgcn"])
def test_our_own_encoders_need_no_other_library(cli, surrounded, tmp_path, without, encoder):
    settings = [f"model.encoder={encoder}", "training.epochs=1"]
    assert (
        cli(
            "train",
            surrounded,
            "--run",
            tmp_path / "run",
            "--config",
            "preset:plain",
            *(w for s in settings for w in ("--set", s)),
        )
        == 0
    )
    assert cli("eval", tmp_path / "run") == 0
