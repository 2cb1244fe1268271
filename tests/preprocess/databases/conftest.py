"""A PostgreSQL server in a temporary folder."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgresql():
    """The server, with a table of numbered edges; the test is skipped where none can be started."""
    pytest.importorskip("adbc_driver_postgresql", reason="PostgreSQL needs the extra `sql`")
    path = Path(__file__).parents[3] / "scripts" / "bench" / "temporary_postgresql.py"
    spec = importlib.util.spec_from_file_location("temporary_postgresql", path)
    module = sys.modules["temporary_postgresql"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if reason := module.missing():
        pytest.skip(f"no PostgreSQL server can be started: {reason}")
    with module.temporary_server() as server:
        server.run("CREATE TABLE edges AS SELECT i AS src, (i * 7) % 1000 AS dst FROM generate_series(1, 200000) i")
        yield server
