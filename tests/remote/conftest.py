"""Fixtures: a bucket of its own for each test, in a server on this machine, and a folder for what is kept of it."""

import itertools
import logging
import urllib.request

import pytest
from bucket_server import environment
from published_runs import SETTINGS, SHORT, told

from marius_lite.remote import store


@pytest.fixture(scope="session")
def object_server():
    """The address of a server of object storage."""
    moto = pytest.importorskip("moto.server")
    pytest.importorskip("obstore")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


NUMBERS = itertools.count()


@pytest.fixture
def bucket(object_server, monkeypatch, tmp_path):
    """The address of an empty bucket. The environment leads to it."""
    for name, value in environment(object_server).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MARIUS_LITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "PAUSE", 0.01)
    name = f"bucket{next(NUMBERS)}"
    with urllib.request.urlopen(urllib.request.Request(f"{object_server}/{name}", method="PUT")):
        return f"s3://{name}"


@pytest.fixture(scope="session")
def short(tiny_dataset, tmp_path_factory, cli):
    """What a run of one checkpoint amounts to, on this machine."""
    run = tmp_path_factory.mktemp("short") / "run"
    assert cli("train", tiny_dataset, "--run", run, *SHORT, "-q") == 0
    return told(run)


@pytest.fixture(scope="session")
def local(tiny_dataset, tmp_path_factory, cli):
    """What the run on this machine amounts to."""
    run = tmp_path_factory.mktemp("local") / "run"
    assert cli("train", tiny_dataset, "--run", run, *SETTINGS, "-q") == 0
    return told(run)
