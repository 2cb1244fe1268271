"""Addresses, access, and manifests that nobody should follow."""

import json
import sys
from pathlib import Path

import pytest
from bucket_server import KEY, SECRET

from marius_lite.errors import UserError
from marius_lite.remote import credentials
from marius_lite.remote.address import BucketAddress, address_of
from marius_lite.remote.failures import Damaged, told
from marius_lite.remote.run import PublishedRun, run_to_read
from marius_lite.remote.store import ObjectStore
from marius_lite.remote.tree import Part, Pointer, Tree, new_writer, parse_pointer, parse_tree


@pytest.mark.parametrize("given", ["s3://bucket/a/b", Path("s3://bucket/a/b"), "s3://bucket/a/b/"])
def test_an_address_is_known_as_text_and_as_path(given):
    assert address_of(given) == BucketAddress("s3", "bucket", "a/b")


def test_folders_are_no_addresses():
    assert [address_of(path) for path in ("bucket/a", "/s3/bucket", "./s3:x", "http://host/a", "S3://bucket/a")] == [None] * 5


@pytest.mark.parametrize("given", ["s3://bucket", "s3://bucket/", "s3://B/a", "s3://bucket/a/../b", "s3://bucket/a//b", "s3://bucket/a?b",
                                   "s3://bucket/a\nb", "s3://bucket/" + "a" * 1000])  # fmt: skip
def test_what_is_no_address_is_told(given):
    with pytest.raises(UserError, match="no address"):
        address_of(given)


@pytest.mark.parametrize("given", [f"s3://{KEY}:{SECRET}@bucket/a", f"s3://bucket/{SECRET}@host", f"gs://{SECRET}@bucket/a"])
def test_credentials_in_an_address_are_refused_and_not_repeated(given):
    with pytest.raises(UserError, match="holds no credentials") as error:
        address_of(given)
    assert SECRET not in str(error.value)


def test_plain_http_is_allowed_by_name_alone(monkeypatch):
    pytest.importorskip("obstore")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)
    with pytest.raises(UserError, match=r"plain http, which others can read .* AWS_ALLOW_HTTP=true"):
        ObjectStore(address_of("s3://bucket/a")).get("b", 10)


def test_without_obstore_one_line_names_the_command(monkeypatch, cli, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setenv("MARIUS_LITE_CACHE", str(tmp_path))
    assert cli("info", "s3://bucket/a") == 2
    assert capsys.readouterr().err == (
        "marius-lite: s3://bucket/a: object storage needs obstore, which is not installed: pip install 'marius-lite[cloud]'\n"
    )


def test_credentials_come_from_the_usual_files(monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    address = address_of("s3://bucket/a")
    assert credentials.of_files(address) == {}
    (tmp_path / "credentials").write_text(f"[default]\naws_access_key_id = {KEY}\n[other]\naws_secret_access_key={SECRET}%1\n")
    (tmp_path / "config").write_text("[default]\nregion=eu-north-1\n[profile other]\nregion = us-west-2\n")
    assert credentials.of_files(address) == {"access_key_id": KEY, "region": "eu-north-1"}
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert credentials.of_files(address) == {"secret_access_key": f"{SECRET}%1", "region": "us-west-2"}
    monkeypatch.setenv("AWS_PROFILE", "third")
    with pytest.raises(UserError, match="AWS_PROFILE is 'third'"):
        credentials.of_files(address)
    (tmp_path / "credentials").write_text(f"{SECRET}\n")
    with pytest.raises(UserError, match="cannot be read") as error:
        credentials.of_files(address)
    assert SECRET not in str(error.value)


def test_errors_repeat_no_credentials(monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token/of a session")
    said = f"Generic S3 error: in 1ms - HTTP error: http://host/?X-Amz-Signature=abc {SECRET} token/of a session \x1b[31m"
    text = str(told("s3://bucket/a", RuntimeError(said), (SECRET,)))
    assert not any(secret in text for secret in (SECRET, "token/of", "abc", "\x1b"))


OBJECT = "objects/0123456789abcdef/0"
TREE = {"format": 1, "files": {"a/b": [[OBJECT, 3, "00"]]}, "links": {"a/latest": "b"}}


@pytest.mark.parametrize(
    "change",
    [
        *({"files": {name: []}} for name in ("../a", "/a", "a/../b", "a//b", "", "a\x00", "a\n", ".", "a\\b", "a" * 600)),
        *({"files": {"a": [[name, 1, "0"]]}} for name in (f"../{OBJECT}", "objects/0/0", "config", f"{OBJECT}0", 5)),
        *({"files": {"a": [[OBJECT, size, "0"]]}} for size in (-1, 1 << 60, 1.5, True, "3", None)),
        *({"links": {"a": target}} for target in ("../b", "/b", "b/c", "..", "", 3)),
        {"files": 3},
        {"links": {"a/b": "c"}},
    ],
)  # fmt: skip
def test_a_manifest_may_not_leave_its_folder(change):
    assert parse_tree(json.dumps(TREE).encode(), "x").links == {"a/latest": "b"}
    with pytest.raises(UserError, match="refused, this program writes no such manifest"):
        parse_tree(json.dumps({**TREE, **change}).encode(), "x")


def test_a_pointer_names_manifests_alone():
    sound = Pointer(new_writer(), 1, f"manifests/{new_writer()}/1", 10, "00")
    assert parse_pointer(sound.to_json(), "x") == sound
    for change in ({"name": "../manifests/0"}, {"size": 1 << 40}, {"writer": "me"}, {"generation": -1}, {"sha256": None}):
        with pytest.raises(UserError, match="names no manifest"):
            parse_pointer(Pointer(**{**sound.__dict__, **change}).to_json(), "x")
    for damaged in (b"", b"[]", b"{}", b"[" * 10000, sound.to_json()[:-3], sound.to_json().replace(b'"size": 10', b'"size": 11')):
        with pytest.raises(Damaged):
            parse_pointer(damaged, "x")


def test_what_others_put_beside_a_run_stays_and_is_not_read(bucket):
    run = PublishedRun(address_of(f"{bucket}/run"))
    run.folder.mkdir(parents=True)
    (run.folder / "config.yaml").write_text("mine")
    run.publish()
    there = ObjectStore(run.address)
    foreign = ["objects/evil", "objects/0123456789abcdef/007", "manifests/a/b/c", "config.yaml", "checkpoints/9.0.0/state.json"]
    left = ["objects/0123456789abcdef/7", "manifests/0123456789abcdef/3"]
    for name in [*foreign, *left]:
        there.put(name, b"x" * 100)
    assert {path.name for path in run_to_read(f"{bucket}/run").iterdir()} == {"config.yaml", "lock"}
    after = PublishedRun(run.address)
    after.take_over()
    (run.folder / "new").write_text("x")
    after.publish()
    assert all(there.get(name, 1000) for name in foreign)
    assert not any(there.get(name, 1000) for name in left)


def test_a_part_that_is_larger_than_it_should_be_is_not_read(bucket):
    there = ObjectStore(address_of(f"{bucket}/run"))
    there.put("run.json", b"x" * (1 << 17))
    with pytest.raises(UserError, match=r"run.json: 131,072 bytes, at most 65,536 belong there"):
        run_to_read(f"{bucket}/run")
    assert Tree({"a": (Part("objects/0123456789abcdef/0", 3, "00"),)}).objects == {"objects/0123456789abcdef/0"}
