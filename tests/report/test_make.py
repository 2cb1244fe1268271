"""A report is one page of its own: it opens without a network, at any width, light and dark, and is small after any run."""

import re
import shutil
from html.parser import HTMLParser

import pytest
import yaml
from browser import DESKTOP, PHONE, opened
from made_runs import write_metrics

import marius_lite as ml

pytest.importorskip("matplotlib", reason="reports need the extra `report`")
VOID = {"meta", "br"}


class Nested(HTMLParser):
    """Notes whether elements close in the order in which they open."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))


def checked(page):
    """The text of a page, which is well formed and refers to nothing outside."""
    text = page.read_text()
    nested = Nested()
    nested.feed(text)
    assert (nested.wrong, nested.open) == ([], [])
    assert all(link.startswith("#") for link in nested.links)
    assert "url(http" not in text
    assert "#0101" not in text  # every colour is the page's
    assert "<script" not in text
    return text


@pytest.fixture(scope="module")
def made(link_run, tmp_path_factory):
    """The folder of a run that was trained, in a copy."""
    run = tmp_path_factory.mktemp("report") / "run"
    shutil.copytree(link_run, run, symlinks=True)
    return run


def test_a_report_of_a_run(made):
    told = ml.report_run(made)
    assert told == {"report": str(made / "report.html"), "bytes": (made / "report.html").stat().st_size}
    text = checked(made / "report.html")
    for part in ("Curves", "Speed and memory", "Configuration", "Environment", "differs from the default", "model.decoder"):
        assert part in text
    before = (made / "report.html").read_bytes()
    ml.report_run(made)
    assert (made / "report.html").read_bytes() == before


@pytest.mark.parametrize(("width", "dark"), [(PHONE, True), (DESKTOP, False)])
def test_it_opens_in_a_browser(made, width, dark):
    ml.report_run(made)
    shown = opened(made / "report.html", width, dark)
    assert shown["inner"] == width
    assert shown["width"] <= width  # nothing sticks out
    assert shown["requests"] == 0
    assert len(shown["charts"]) >= 8
    assert min(chart[0] for chart in shown["charts"]) > 250
    brightness = sum(map(int, re.findall(r"\d+", shown["back"])[:3]))
    letters = sum(map(int, re.findall(r"\d+", shown["charts"][0][1])[:3]))
    assert (brightness < 150, letters > 400) == (dark, dark)


def test_runs_beside_each_other(made, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(made, other, symlinks=True)
    text = (other / "config.yaml").read_text().replace("  seed: 0\n", "  seed: 77\n")
    (other / "config.yaml").write_text(re.sub("checksum: .*", "checksum: none", text))
    (tmp_path / "gone").mkdir()
    ml.report_run([made, other], tmp_path / "both.html")
    page = checked(tmp_path / "both.html")
    (differing,) = re.findall("What differs</h2>.*?</section>", page, re.S)
    assert re.findall("<td>(training[^<]*)</td>", differing) == ["training.seed"]
    assert page.index("What differs</h2>") < page.index("Curves</h2>")


def test_runs_on_other_datasets_are_not_to_be_compared(made, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(made, other, symlinks=True)
    record = yaml.safe_load((other / "config.yaml").read_text())
    record["dataset"] |= {"fingerprint": "0" * 64, "absolute": "/elsewhere/data"}
    record["checksum"] = "none"
    (other / "config.yaml").write_text(yaml.safe_dump(record))
    ml.report_run([made, other], tmp_path / "both.html")
    (differing,) = re.findall("What differs</h2>.*?</section>", (tmp_path / "both.html").read_text(), re.S)
    assert "dataset: figures are not to be compared" in differing
    assert "/elsewhere/data (not there now)" in differing


def reported(made, folder, batches):
    """The page of the run as if it had 1,000 epochs of so many batches, and its bytes."""
    run = folder / "run"
    shutil.copytree(made, run, symlinks=True)
    write_metrics(run / "metrics.jsonl", 1000, batches)
    told = ml.report_run(run)
    checked(run / "report.html")
    return run / "report.html", told["bytes"]


def test_a_long_run_stays_small(made, tmp_path):
    _, size = reported(made, tmp_path, 20)
    assert size < 1_500_000


@pytest.mark.slow
def test_ten_million_batches_open_as_fast(made, tmp_path):
    page, size = reported(made, tmp_path, 10_000)
    assert size < 5_000_000
    assert opened(page, DESKTOP)["ms"] < 3000


def test_what_is_no_run_or_has_nothing_yet(cli, made, tmp_path, capfd):
    assert cli("report", tmp_path) == 2
    assert "not a run folder" in capfd.readouterr().err
    assert cli("report", made, made) == 2
    assert "given twice" in capfd.readouterr().err
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(made / "config.yaml", run)
    assert cli("report", run) == 0
    text = checked(run / "report.html")
    assert "nothing is trained yet" in text
    assert "its dataset is" in text or "dataset" in text


@pytest.mark.parametrize("left", [100, None])
def test_lines_that_are_missing_are_told(cli, made, tmp_path, capfd, left):
    run = tmp_path / "run"
    shutil.copytree(made, run, symlinks=True)
    (run / "metrics.jsonl").write_bytes((run / "metrics.jsonl").read_bytes()[:left]) if left else (run / "metrics.jsonl").unlink()
    assert cli("report", run) == 0
    (told,) = [line for line in capfd.readouterr().err.splitlines() if "metrics.jsonl" in line]
    assert "lines of what was trained before it are missing" in told
    assert "lines of what was trained before it are missing" in checked(run / "report.html")


def test_names_of_others_are_only_text(made, tmp_path):
    run = tmp_path / "<script>alert(1)</script>$x$"
    shutil.copytree(made, run, symlinks=True)
    ml.report_run(run, tmp_path / "page.html")
    checked(tmp_path / "page.html")
