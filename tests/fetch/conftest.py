"""A web server on this machine, asked again without pauses."""

import loopback
import pytest


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr("marius_lite.fetch.download.PAUSE", 0.0)
    with loopback.serving() as site:
        yield site
