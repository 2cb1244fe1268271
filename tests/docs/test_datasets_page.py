"""The recipe of docs/datasets.md works as it stands there, and the page names every recipe."""

import re
import shlex
import zipfile
from pathlib import Path

from marius_lite.fetch.recipes import names

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text()


def test_a_recipe_of_ones_own(cli, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (recipe,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
    Path("toy.yaml").write_text(recipe)
    with zipfile.ZipFile("toy.zip", "w") as archive:
        archive.writestr("some/folder/edges.csv", "".join(f"{n % 50},{(n * 7 + n // 50) % 50}\n" for n in range(200)))
    (commands,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    for command in commands.splitlines():
        program, *arguments = shlex.split(command)
        assert program == "marius-lite"
        assert cli(*arguments) == 0
    assert "counts as published" in capfd.readouterr().out


def test_every_recipe_is_named():
    (table,) = re.findall(r"^\| names \|.*?\n\n", PAGE, re.M | re.S)
    listed = [name for row in table.strip().splitlines()[2:] for name in row.split("|")[1].replace(",", " ").split()]
    assert sorted(listed, key=str.lower) == names()
