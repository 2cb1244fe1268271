"""A run tells of itself on standard error: lines without a terminal, bars on one, only warnings from the library by itself."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios

import pytest

from marius_lite.log import log, on_standard_error

SETTINGS = [
    "model.dim=8",
    "training.epochs=3",
    "training.batch_size=200",
    "negatives.count=20",
    "negatives.chunks=1",
    "training.threads=1",
]
LINE = (
    r"epoch {} of 3: loss \d+\.\d{{4}}, [\d,]+ edges/s, [\d.]+ s, waiting for I/O \d+%{}, [\d:]+ left, "
    r"peak memory [\d.]+ [MG]B"
)


def arguments(dataset, run, *more):
    return ["train", str(dataset), "--run", str(run), *(part for item in SETTINGS for part in ("--set", item)), *more]


def command(dataset, run):
    return [sys.executable, "-c", "from marius_lite.cli.main import main; main()", *arguments(dataset, run)]


@pytest.fixture
def told(cli, capfd):
    """Trains in this process: the lines on standard error, which is no terminal."""

    def told(dataset, run, *more):
        capfd.readouterr()
        assert cli(*arguments(dataset, run, *more)) == 0
        out, err = capfd.readouterr()
        assert json.loads(out)["epochs"] == 3 if "--json" in more else "epochs" in out
        return err.splitlines()

    return told


def test_without_a_terminal_each_epoch_is_one_line_with_its_validation(told, tiny_dataset, tmp_path):
    preset, first, *epochs = told(tiny_dataset, tmp_path / "run", "--set", "evaluation.every_epochs=2", "--json")
    assert preset.startswith("settings of preset:kg-small (3 relations; 300 nodes")
    assert first.startswith(f"training on {tiny_dataset}: 300 nodes, ")
    figure = r", valid mrr 0\.\d{4}"
    assert len(epochs) == 3
    for epoch, line in enumerate(epochs, 1):  # the last epoch is always evaluated
        assert re.fullmatch(LINE.format(epoch, figure if epoch > 1 else ""), line), line
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    losses = [f"loss {line['loss']:.4f}" for line in lines if line["kind"] == "epoch"]
    assert losses == [re.search(r"loss [\d.]+", line)[0] for line in epochs]


@pytest.mark.parametrize(("option", "lines"), [("--quiet", 0), ("--verbose", 2 + 3 + 3)])
def test_less_and_more(told, tiny_dataset, tmp_path, option, lines):
    assert len(told(tiny_dataset, tmp_path / "run", option)) == lines  # everything is resident: one step an epoch


def test_on_a_terminal_a_bar_moves_below_the_lines(forked, tiny_dataset, tmp_path):
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 200))
    process = forked(arguments(tiny_dataset, tmp_path / "run"), errors=os.ttyname(theirs))
    while process.poll() is None and not select.select([ours], [], [], 0.1)[0]:
        pass  # it has opened the terminal, and writes
    os.close(theirs)
    screen = b""
    try:
        while part := os.read(ours, 1 << 16):
            screen += part
    except OSError:  # the other end is closed
        pass
    assert process.wait() == 0
    shown = screen.decode()
    assert re.search(r"100%\|.*\| .*epoch 3 of 3, loss [\d.]+, waiting for I/O", shown)
    assert all(re.search(rf"(^|[\r\n]){LINE.format(epoch, '.*')}\r?\n", shown) for epoch in (1, 2, 3))


def test_the_library_only_warns_until_it_is_asked_for_more(forked, tiny_dataset, tmp_path):
    code = (
        "import sys, logging, marius_lite as ml\n"
        "values = {'model': {'dim': 8, 'decoder': 'dot'}, 'training': {'epochs': 1, 'threads': 1, 'batch_size': 500},"
        " 'negatives': {'count': 20, 'chunks': 1}}\n"
        "ml.train_run(sys.argv[1], sys.argv[2], ml.load_config(values=values))\n"
        "print('--', file=sys.stderr)\n"
        "logging.basicConfig(level=logging.INFO, format='%(name)s %(levelname)s %(message)s')\n"
        "ml.train_run(sys.argv[1], sys.argv[3], ml.load_config(values=values))\n"
    )
    process = forked(code, tiny_dataset, tmp_path / "a", tmp_path / "b")
    assert process.wait() == 0
    unasked, asked = process.communicate()[1].split("--\n")
    assert unasked.startswith("`model.decoder` is dot, which scores all 3 relations")
    assert len(unasked.splitlines()) == 1
    assert "marius_lite INFO epoch 1 of 1: loss" in asked
    assert "marius_lite WARNING `model.decoder` is dot, which scores all 3 relations of the dataset alike" in asked


def test_a_closed_standard_error_ends_no_run(tiny_dataset, tmp_path):
    process = subprocess.Popen(command(tiny_dataset, tmp_path / "run"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    process.stderr.close()
    assert process.wait() == 0


def test_what_a_message_quotes_controls_no_terminal(capfd):
    with on_standard_error():
        log.warning("node %s", "a\x1b[31m\nb")
    assert capfd.readouterr().err == "warning: node a\\x1b[31m\\nb\n"


def test_lines_make_no_lock_between_processes():
    """Such a lock would outlive a command that is stopped, and Python would complain of it."""
    program = """
import tqdm, multiprocessing.synchronize as locks
from marius_lite.log import log, on_standard_error
locks.SemLock.__init__ = lambda *_, **__: 1 / 0
with on_standard_error():
    log.info("a line")
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr == "a line\n"
