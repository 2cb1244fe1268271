"""Edges from standard input make what the same file makes, and leave nothing behind."""

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from preprocess_tools import data_files, make

from marius_lite.errors import UserError
from marius_lite.preprocess.command import command_digest
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.source import find_files
from marius_lite.preprocess.standard_input import on_disk

TEXT = "".join(f"n{i % 97}\tr{i % 3}\tn{i * 2 % 101}\n" for i in range(2000)).encode()


def run(tmp_path, data, *arguments):
    command = [
        sys.executable,
        "-c",
        "from marius_lite.cli.main import main; main()",
        "preprocess",
        "-",
        *arguments,
        "--output",
        str(tmp_path / "d"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(command, input=data, capture_output=True, env=environment)


def test_standard_input(tmp_path):
    done = run(tmp_path, gzip.compress(TEXT), "--split", "0.8,0.1,0.1")
    assert done.returncode == 0, done.stderr
    (tmp_path / "e.tsv.gz").write_bytes(gzip.compress(TEXT))
    named = data_files(make(tmp_path / "n", tmp_path / "e.tsv.gz", split="0.8,0.1,0.1").path)
    piped = data_files(tmp_path / "d")
    assert {name: data for name, data in piped.items() if name.name != "zarr.json"} == {
        name: data for name, data in named.items() if name.name != "zarr.json"
    }


def test_bad_standard_input_leaves_nothing(tmp_path):
    done = run(tmp_path, b"a\tb\nc\n")
    assert done.returncode == 2
    assert b"standard input:2: 1 columns where 2 were expected: 'c'" in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_read_for_an_output_that_is_there(tmp_path):
    (tmp_path / "d").mkdir()
    stream = io.BytesIO(TEXT)
    with pytest.raises(UserError, match="exists already"), on_disk(Options.parse(edges=["-"], output=tmp_path / "d"), stream):
        pass
    assert stream.tell() == 0


def test_files_stay_as_they_are_named(tmp_path):
    options = Options.parse(edges=["e.tsv"], output=tmp_path / "d", valid=["v.tsv"])
    with on_disk(options, io.BytesIO(TEXT)) as found:
        assert found == options
    with on_disk(Options.parse(edges=["e.tsv"], output=tmp_path / "d", valid=["-"]), io.BytesIO(TEXT)) as found:
        assert found.edges == ("e.tsv",)
        assert Path(found.valid[0]).read_bytes() == TEXT
    assert list(tmp_path.iterdir()) == []


def test_the_same_bytes_are_the_same_file(tmp_path):
    """Else no interrupted run would go on."""
    digests = []
    for data in (TEXT, TEXT, TEXT[:-1] + b"!"):
        with on_disk(Options.parse(edges=["-"], output=tmp_path / "d"), io.BytesIO(data)) as found:
            digests.append(command_digest(found, find_files(found)))
    assert digests[0] == digests[1] != digests[2]
