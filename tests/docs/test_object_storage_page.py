"""The commands of docs/object-storage.md do what it says."""

import re
import urllib.request
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "object-storage.md"


def test_the_commands_run(tiny_edges, tmp_path, monkeypatch, cli):
    moto = pytest.importorskip("moto.server")
    monkeypatch.chdir(tmp_path)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT")):
            pass
        for name, value in {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_ALLOW_HTTP": "true",
            "MARIUS_LITE_CACHE": str(tmp_path / "cache"),
        }.items():
            monkeypatch.setenv(name, value)
        (tmp_path / "edges.tsv").write_bytes(tiny_edges.read_bytes())
        commands = [line.split() for line in re.findall(r"^    marius-lite (.*)$", PAGE.read_text(), re.M)]
        assert [command[0] for command in commands] == ["preprocess", "plan", "train", "resume", "eval", "export", "info"]
        for command in commands:
            more = ["--set", "model.dim=8", "-q"] if command[0] == "train" else []
            assert cli(*command, *more) == 0, command
        assert (tmp_path / "vectors" / "nodes.parquet").exists()
    finally:
        server.stop()
