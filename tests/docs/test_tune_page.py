"""The commands of docs/tune.md work as they stand there, at the size of a toy."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="tune needs the extra `tune`")
PAGE = (Path(__file__).parents[2] / "docs" / "tune.md").read_text()


def test_the_commands_of_the_page(cli, tiny_dataset, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_dataset, "dataset")
    (space,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
    Path("space.yaml").write_text(space)
    (commands,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    for command in commands.splitlines():
        program, *arguments = shlex.split(command)
        assert program == "marius-lite"
        assert cli(*arguments) == 0
    assert "best_mrr" in capfd.readouterr().out
    assert cli("eval", *Path("search/runs").glob("2-[0-9]")) == 0
    named = re.findall(r"^    search/([\w.]+)", PAGE, re.M)
    assert len(named) == 4
    assert all(Path("search", name).exists() for name in [*named, "trials.md"])
