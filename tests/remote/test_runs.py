"""Runs in object storage have the bits of local ones, whatever fails on the way, and no half checkpoint is ever there."""

import json
import os
import shutil
from pathlib import Path

import pytest
from bucket_server import FAULTS, KEY, SECRET, proxy
from published_runs import SETTINGS, ends_in_one_line, fetched, killed_at, require_whole

from marius_lite.errors import UserError
from marius_lite.remote import store
from marius_lite.remote.address import address_of
from marius_lite.remote.run import PublishedRun, _read_pointer, _read_tree
from marius_lite.remote.store import ObjectStore


def test_a_run_in_a_bucket_has_the_bits_of_a_local_one(bucket, tiny_dataset, local, cli, capsys):
    assert cli("upload", tiny_dataset, f"{bucket}/data/set") == 0
    assert cli("train", f"{bucket}/data/set", "--run", f"{bucket}/run", *SETTINGS, "-q") == 0
    assert fetched(f"{bucket}/run") == local
    for command in (
        ["eval", f"{bucket}/run", "--json"],
        ["predict", f"{bucket}/run", "--queries", "-"],
        ["info", f"{bucket}/run"],
        ["export", f"{bucket}/run", "-o", Path(os.environ["MARIUS_LITE_CACHE"]) / "exported"],
        ["plan", f"{bucket}/data/set"],
        ["info", f"{bucket}/data/set", "--verify"],
    ):
        if command[0] != "predict":
            assert cli(*command) == 0, command
    assert cli("train", f"{bucket}/data/set", "--run", f"{bucket}/run", *SETTINGS) == 2
    assert f"{bucket}/run: exists already: `marius-lite resume {bucket}/run` continues it" in capsys.readouterr().err
    assert cli("resume", f"{bucket}/run", "--set", "training.epochs=3", "-q") == 0
    assert json.loads((PublishedRun(address_of(f"{bucket}/run")).folder / "checkpoints/latest/state.json").read_text())


def test_unchanged_files_are_sent_once(bucket, tmp_path):
    run = PublishedRun(address_of(f"{bucket}/run"))
    for name in ("checkpoints/1/a", "checkpoints/1/b", "metrics.jsonl", "live/c"):
        (run.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (run.folder / name).write_bytes(name.encode() * 100)
    run.publish()
    os.makedirs(run.folder / "checkpoints/2")
    os.link(run.folder / "checkpoints/1/a", run.folder / "checkpoints/2/a")
    (run.folder / "checkpoints/2/b").write_bytes(b"new")
    with open(run.folder / "metrics.jsonl", "ab") as metrics:
        metrics.write(b"one more line")
    before = set(ObjectStore(run.address).listed("objects"))
    run.publish()
    there = ObjectStore(run.address)
    new = set(there.listed("objects")) - before
    assert sorted(there.get(name, 1000)[0] for name in new) == [b"new", b"one more line"]
    shutil.rmtree(run.folder / "checkpoints/1")
    run.publish()
    assert len(there.listed("objects")) == 4  # a, the new b, and two parts of the metrics
    assert len(there.listed("manifests")) == 1
    again = PublishedRun(run.address)
    shutil.rmtree(run.folder)
    again.folder.mkdir()
    again.take_over()
    assert (again.folder / "metrics.jsonl").read_bytes() == b"metrics.jsonl" * 100 + b"one more line"
    assert not (again.folder / "live").exists()
    (again.folder / "new").write_bytes(b"x")
    again.publish()
    assert len(there.listed("objects")) == 5  # nothing that was there was sent again


def test_every_request_fails_once(bucket, object_server, tiny_dataset, local, cli, monkeypatch):
    """Each kind of failure meets requests of each kind. Whenever something was changed, what is there is whole."""
    monkeypatch.setattr(store, "SILENT", 0.5)

    met = set()

    def fault(number, method, path):
        if (method, path) in met:
            return None
        met.add((method, path))
        return FAULTS[len(met) % len(FAULTS)]

    def after(method, path):
        if method == "POST" or (method == "PUT" and path.endswith("/run.json")):  # what is removed, and what is pointed to
            require_whole_at(object_server, f"{bucket}/run")

    with proxy(object_server, fault, after, hangs=1.0) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
        assert cli("train", tiny_dataset, "--run", f"{bucket}/run", *SETTINGS, "-q") == 0
        assert server.count > 4 * len(FAULTS)
        assert fetched(f"{bucket}/run") == local


def require_whole_at(endpoint, address):
    """`require_whole`, past the server that lets requests fail."""
    there = ObjectStore(address_of(address))
    obstore = pytest.importorskip("obstore")
    there.__dict__["_store"] = obstore.store.S3Store(
        there.address.bucket, prefix=there.address.prefix, endpoint=endpoint, client_options={"allow_http": True}
    )
    if there.get("run.json", 1 << 20) is not None:
        assert _read_tree(there, _read_pointer(there)[0]).objects <= set(there.listed("objects"))


@pytest.mark.parametrize("fault", ["500", "drops after", "falsifies"])
def test_a_server_that_stays_away_is_told_in_one_line(
    fault, bucket, object_server, tiny_dataset, local, cli, monkeypatch, capsys
):
    """Nothing is lost: once it is back, the run goes on to the same bits."""
    monkeypatch.setattr(store, "SILENT", 0.1)
    monkeypatch.setattr(store, "TRIES", 2)
    with proxy(object_server, lambda number, *_: fault if number >= 20 else None, hangs=0.3) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
        code = cli("train", tiny_dataset, "--run", f"{bucket}/run", *SETTINGS, "-q")
        assert server.count > 20
    captured = capsys.readouterr().err
    assert SECRET not in captured
    assert KEY not in captured
    assert code == 1, captured
    assert ends_in_one_line(captured, f"{bucket}/run")
    monkeypatch.setattr(store, "SILENT", 30)
    monkeypatch.setattr(store, "TRIES", 6)
    monkeypatch.setenv("AWS_ENDPOINT_URL", object_server)
    shutil.rmtree(os.environ["MARIUS_LITE_CACHE"])
    assert cli("resume", f"{bucket}/run", "-q") == 0
    assert fetched(f"{bucket}/run") == local


@pytest.mark.parametrize("number", [30])
def test_killed_while_it_sends(number, forked, bucket, object_server, tiny_dataset, local, cli):
    assert killed_at(forked, number, bucket, object_server, tiny_dataset, True, SETTINGS)
    require_whole(f"{bucket}/run")
    shutil.rmtree(os.environ["MARIUS_LITE_CACHE"])
    assert cli("resume", f"{bucket}/run", "-q") == 0
    assert fetched(f"{bucket}/run") == local
    there = ObjectStore(address_of(f"{bucket}/run"))
    assert set(there.listed("objects")) == _read_tree(there, _read_pointer(there)[0]).objects  # nothing is left of the killed one


def test_a_damaged_object_is_told(bucket, tiny_dataset, cli, capsys):
    assert cli("train", tiny_dataset, "--run", f"{bucket}/run", *SETTINGS, "-q") == 0
    there = ObjectStore(address_of(f"{bucket}/run"))
    name = next(iter(_read_tree(there, _read_pointer(there)[0]).files["checkpoints/2.0.0/nodes/c/1/0"])).name
    data = there.get(name, 1 << 20)[0]
    there.put(name, data[:-1] + bytes([data[-1] ^ 1]))
    shutil.rmtree(os.environ["MARIUS_LITE_CACHE"])
    capsys.readouterr()
    assert cli("eval", f"{bucket}/run") == 1
    assert ends_in_one_line(capsys.readouterr().err, name, "do not match their checksum")
    there.remove([name])
    assert cli("eval", f"{bucket}/run") == 2
    assert ends_in_one_line(capsys.readouterr().err, name, "there is no such object or bucket")


def test_no_credentials_are_kept_or_told(bucket, object_server, tiny_dataset, cli, capsys, monkeypatch, tmp_path):
    assert cli("upload", tiny_dataset, f"{bucket}/data") == 0
    assert cli("train", f"{bucket}/data", "--run", f"{bucket}/run", *SETTINGS, "-v") == 0
    monkeypatch.setattr(store, "TRIES", 2)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert cli("eval", f"{bucket}/run") == 1
    with proxy(object_server, lambda *_: "500") as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"{server.endpoint}?token={SECRET}")
        cli("info", f"{bucket}/run")
        assert cli("info", f"s3://{KEY}:{SECRET}@bucket/run") == 2
    said = capsys.readouterr()
    monkeypatch.setenv("AWS_ENDPOINT_URL", object_server)
    kept = [path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    there = ObjectStore(address_of(f"{bucket}/run"))
    sent = [there.get(name, 1 << 30)[0] for name in [*there.listed("objects"), *there.listed("manifests"), "run.json"]]
    assert len(kept) > 30
    assert len(sent) > 10
    for secret in (KEY, SECRET):
        assert secret not in said.out + said.err
        assert not any(secret.encode() in data for data in [*kept, *sent])


def test_readers_go_on_while_the_run_moves(bucket):
    """What a reader is about to fetch may be replaced: it then begins again with what is there now."""
    run = PublishedRun(address_of(f"{bucket}/run"))
    run.folder.mkdir(parents=True)
    (run.folder / "config.yaml").write_text("one")
    run.publish()
    from marius_lite.remote.run import _while_overtaken

    seen = []

    def read(pointer):
        seen.append(pointer)
        if len(seen) == 1:
            (run.folder / "config.yaml").write_text("another")
            run.publish()
            raise UserError("gone")
        return _read_tree(ObjectStore(run.address), pointer)

    tree = _while_overtaken(ObjectStore(run.address), read)
    assert [len(seen), len(tree.files)] == [2, 1]
