"""A dataset from PostgreSQL is that of a Parquet file of the same rows; no password is in it, beside it, or logged."""

import logging

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import data_files, make

from marius_lite.errors import RunError
from marius_lite.preprocess import make as module

QUERY = "SELECT src, dst FROM edges WHERE src <= 5000"


def unlike_sources(folder):
    """The bytes of all files but the manifest, which names the inputs."""
    return {path: data for path, data in data_files(folder).items() if path.name != "zarr.json"}


def test_the_same_dataset(postgresql, tmp_path):
    rows = range(1, 5001)
    pq.write_table(pa.table({"src": [*rows], "dst": [i * 7 % 1000 for i in rows]}), tmp_path / "edges.parquet")
    options = {"partitions": 4, "split": "0.8,0.1,0.1"}
    from_file = make(tmp_path / "file", tmp_path / "edges.parquet", **options)
    asked = make(tmp_path / "asked", [QUERY], database=postgresql.uri, **options)
    assert unlike_sources(asked.path) == unlike_sources(from_file.path)
    assert asked.manifest.options["database"] == f"postgresql://127.0.0.1:{postgresql.port}/postgres"
    assert [source.name for source in asked.manifest.sources] == [f"edges: {QUERY}"]


@pytest.mark.parametrize("interrupted", [False, True])
def test_no_password_is_written_or_said(postgresql, tmp_path, monkeypatch, caplog, interrupted):
    caplog.set_level(logging.DEBUG, "marius_lite")
    secrets = [postgresql.uri.partition("owner:")[2].partition("@")[0]]
    secrets += [secrets[0].replace("%2F", "/").replace("%40", "@"), "hush"]
    if interrupted:

        def fail(options):
            raise RunError(f"{options}")

        monkeypatch.setattr(module, "preprocess", fail)
        with pytest.raises(RunError) as raised:
            make(tmp_path / "d", [f"{QUERY} AND 'password=hush' <> ''"], database=postgresql.uri)
        said = str(raised.value)
    else:
        said = repr(make(tmp_path / "d", [f"{QUERY} AND 'password=hush' <> ''"], database=postgresql.uri).manifest)
    written = [str(path).encode() + path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert "5,000 rows" in caplog.text
    for secret in secrets:
        assert secret not in caplog.text + said
        assert not any(secret.encode() in data for data in written)


def test_an_interrupted_command_goes_on_with_the_rows_it_has_read(postgresql, tmp_path, monkeypatch, caplog):
    """Whether they have changed cannot be seen, which is said; --overwrite reads them again."""
    postgresql.run("CREATE TABLE changing AS SELECT * FROM edges LIMIT 100")

    def fail(options):
        raise RunError("the disk is full")

    def again(**options):
        return make(tmp_path / "d", ["SELECT src, dst FROM changing"], database=postgresql.uri, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, "preprocess", fail)
        with pytest.raises(RunError, match="the disk is full"):
            again()
    postgresql.run("DELETE FROM changing WHERE src <= 50")
    assert again().manifest.edges["train"] == 100
    assert "going on with the rows that an interrupted run of this command read at" in caplog.text
    assert "is not seen, --overwrite asks anew" in caplog.text
    assert again(overwrite=True).manifest.edges["train"] == 50
    assert [path.name for path in tmp_path.iterdir()] == ["d"]
