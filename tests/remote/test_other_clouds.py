"""Addresses of S3, Google Cloud Storage and Azure: the same run, conditions that hold, endpoints that must be allowed."""

import pytest
from other_clouds import cloud
from published_runs import SHORT, ends_in_one_line, fetched, require_whole

from marius_lite.errors import RunError
from marius_lite.remote import store
from marius_lite.remote.address import address_of
from marius_lite.remote.run import PublishedRun
from marius_lite.remote.store import ObjectStore, Taken


@pytest.fixture(params=["s3", "gs", "az"])
def place(request, monkeypatch, tmp_path):
    """The address of an empty bucket. The environment leads to it."""
    pytest.importorskip("obstore")
    monkeypatch.setenv("MARIUS_LITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setattr(store, "PAUSE", 0.01)
    with cloud(request.param, tmp_path) as (address, environment, _):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield address


def test_a_run_has_the_bits_of_a_local_one(place, tiny_dataset, short, cli):
    assert cli("upload", tiny_dataset, f"{place}/set") == 0
    assert cli("train", f"{place}/set", "--run", f"{place}/run", *SHORT, "-q") == 0
    assert fetched(f"{place}/run") == short
    assert cli("resume", f"{place}/run", "--set", "training.epochs=2", "-q") == 0
    require_whole(f"{place}/run")
    assert cli("info", f"{place}/set", "--verify") == 0


def test_an_object_is_replaced_by_who_knows_its_version(place):
    there = ObjectStore(address_of(f"{place}/run"))
    first = there.put_if("a", b"1", None)
    second = there.put_if("a", b"2", first)
    with pytest.raises(Taken):
        there.put_if("a", b"3", first)
    with pytest.raises(Taken):
        there.put_if("a", b"3", None)
    assert there.get("a", 10) == (b"2", second)


def test_the_server_itself_compares_versions(place, monkeypatch):
    """Two look at the same time: who puts second loses."""
    there = ObjectStore(address_of(f"{place}/run"))
    first = there.put_if("a", b"1", None)
    other = ObjectStore(there.address)
    look = ObjectStore.get

    def overtaken(self, *arguments):
        found = look(self, *arguments)
        monkeypatch.setattr(ObjectStore, "get", look)
        other.put_if("a", b"2", first)
        return found

    monkeypatch.setattr(ObjectStore, "get", overtaken)
    with pytest.raises(Taken):
        there.put_if("a", b"3", first)
    assert there.get("a", 10)[0] == b"2"


def test_what_is_not_there_is_passed_over(place):
    there = ObjectStore(address_of(f"{place}/run"))
    for name in ("objects/a", "objects/b"):
        there.put(name, b"1")
    there.remove(["objects/a", "objects/none", "objects/b"])
    assert there.listed("objects") == []


def test_of_two_writers_one_loses(place):
    first = PublishedRun(address_of(f"{place}/run"))
    first.folder.mkdir(parents=True)
    (first.folder / "config.yaml").write_text("first")
    first.publish()
    same_time = PublishedRun(first.address)
    with pytest.raises(RunError, match="another process has begun to write this run"):
        same_time.publish()
    second = PublishedRun(first.address)
    second.take_over()
    (second.folder / "config.yaml").write_text("second")
    with pytest.raises(RunError, match="another process has begun to write this run"):
        first.try_to_publish()
    second.publish()
    require_whole(f"{place}/run")
    second.folder.joinpath("config.yaml").unlink()
    PublishedRun(first.address).take_over()
    assert (second.folder / "config.yaml").read_text() == "second"


def test_plain_http_must_be_allowed(place, cli, monkeypatch, capsys):
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    assert cli("info", f"{place}/set") == 2
    assert ends_in_one_line(capsys.readouterr().err, place, "AWS_ALLOW_HTTP=true")


@pytest.mark.parametrize(
    ("address", "variable", "value", "told"),
    [
        ("az://container/set", "AZURE_STORAGE_ACCOUNT_NAME", None, "AZURE_STORAGE_ACCOUNT_NAME"),
        ("az://container/set", "AZURE_STORAGE_ACCOUNT_KEY", "no base64", "AZURE_STORAGE_ACCOUNT_KEY"),
        ("gs://container/set", "GOOGLE_SERVICE_ACCOUNT", "/none", "GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
def test_an_environment_that_cannot_be_right(address, variable, value, told, cli, monkeypatch, capsys, tmp_path):
    pytest.importorskip("obstore")
    monkeypatch.setenv("MARIUS_LITE_CACHE", str(tmp_path))
    with cloud(address[:2], tmp_path) as (_, environment, _):
        for name, given in {**environment, variable: value}.items():
            monkeypatch.delenv(name, raising=False) if given is None else monkeypatch.setenv(name, given)
        assert cli("info", address) == 2
    assert ends_in_one_line(capsys.readouterr().err, address, told)
