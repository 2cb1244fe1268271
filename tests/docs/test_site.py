"""The site is built without a warning: links lead somewhere; every page is in the navigation, every message is listed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="the site needs the extra `docs`")
ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts" / "docs_site"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_in_the_navigation(site):
    navigation = (site / "index.html").read_text()
    pages = [path.relative_to(site).as_posix() for path in site.rglob("*.html") if path.name != "404.html"]
    assert [page for page in pages if f'href="{page}"' not in navigation and page != "index.html"] == []
    assert {"errors.html", "api.html", "configuration.html", "changelog.html", "notebooks/knowledge_graph.html"} <= set(pages)


def test_examples_of_parts_of_ones_own_are_the_files_that_are_tested(site):
    shown = re.sub("<[^>]+>", "", (site / "extend.html").read_text())
    assert "8&lt;" not in shown
    for line in ("class Toy(Decoder):", "def pairs(", "ORDERINGS", "class ToyReader:", "FORMATS", "struct RowAdagrad {"):
        assert line in shown
    assert "struct Adagrad" not in shown


def test_public_names_are_in_the_reference(site):
    import marius_lite as ml

    text = (site / "api.html").read_text()
    assert [name for name in ml.__all__ if f"ml.{name}" not in text] == []


def test_pictures_are_of_whole_plans(site):
    for name in ("beta", "comet"):
        picture = (site / "pictures" / f"{name}-buckets.svg").read_text()
        assert len(re.findall("<rect", picture)) == 8 * 8


@pytest.mark.parametrize(
    "command",
    [
        ["preprocess", "absent.tsv", "--output", "d"],
        ["train", "absent", "--run", "r"],
        ["repartition", "DATASET", "--output", "other", "--partitions", "0"],
        ["train", "DATASET", "--run", "r", "--set", "no.such.key=1"],
        ["eval", "absent"],
    ],
    ids=lambda command: command[0],
)
def test_a_message_that_is_shown_is_in_the_catalogue(command, cli, tiny_dataset, tmp_path, monkeypatch, capfd):
    import messages

    monkeypatch.chdir(tmp_path)
    assert cli(*(tiny_dataset if word == "DATASET" else word for word in command)) in (1, 2)
    said = capfd.readouterr().err.strip().splitlines()[-1].removeprefix("marius-lite: ")
    written = [text for _, _, text in messages.found() if len(re.findall("[a-z]", re.sub("«[^»]*»", "", text))) > 12]
    assert any(messages.pattern(text).search(said) for text in written), said
