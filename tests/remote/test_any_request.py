"""Whatever request of a small run fails, or kills it: nothing is lost, and what is there is whole. Each in turn."""

import os
import shutil
from contextlib import contextmanager
from functools import partial

import pytest
from bucket_server import FAULTS, nothing
from other_clouds import cloud
from published_runs import SHORT, ends_in_one_line, fetched, killed_at, require_whole

from marius_lite.remote import store
from marius_lite.remote.address import address_of
from marius_lite.remote.store import ObjectStore

pytestmark = pytest.mark.slow


@pytest.fixture
def place(monkeypatch, tmp_path):
    """(The address of an empty bucket, its server, which is fast). The environment leads there."""
    pytest.importorskip("obstore")
    with cloud("s3", tmp_path, hangs=1.0) as (address, environment, server):
        for name, value in {**environment, "MARIUS_LITE_CACHE": str(tmp_path / "cache")}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(store, "PAUSE", 0.01)
        yield address, server


@pytest.mark.parametrize("forwarded", [True, False])
def test_killed_at_any_request(forwarded, forked, bucket, object_server, tiny_dataset, short, cli):
    number = 2
    while killed_at(forked, number, f"{bucket}/{number}", object_server, tiny_dataset, forwarded, SHORT):
        goes_on(f"{bucket}/{number}/run", tiny_dataset, short, cli)
        number += 3
    assert number > 20


def goes_on(run, dataset, short, cli):
    """On a machine that has nothing of it, a run that ended somehow comes to the bits of an undisturbed one."""
    require_whole(run)
    shutil.rmtree(os.environ["MARIUS_LITE_CACHE"], ignore_errors=True)
    begun = ObjectStore(address_of(run)).get("run.json", 1 << 20) is not None
    assert cli(*(["resume", run] if begun else ["train", dataset, "--run", run, *SHORT]), "-q") == 0
    assert fetched(run) == short


@contextmanager
def failing(server, fault, number, lasting):
    """Let the request of this ``number`` fail, or also all after it."""
    server.count = 0
    server.fault = lambda n, *_: fault if n == number or (lasting and n > number) else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "SILENT", 0.5 if fault == "hangs" else 5)
        patch.setattr(store, "TRIES", 2 if lasting else 6)
        yield
    server.fault = nothing


def tried(run, server, fault, number, lasting, capsys, call):
    """Return what a command on a ``run`` ends with, and whether it comes to the request that fails.

    It may end in an error only where it comes there, and all requests fail from there on: in one line then.
    """
    capsys.readouterr()
    with failing(server, fault, number, lasting):
        code = call()
        reached = server.count > number
    said = capsys.readouterr().err
    if code and lasting and reached:
        assert ends_in_one_line(said, run), said
    else:
        assert code == 0, (number, said)
    require_whole(run)
    return code, reached


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_any_request_of_a_run_fails(fault, lasting, place, tiny_dataset, short, cli, capsys):
    """Once: the run does not suffer. From there on: it ends in one line, what is there is whole, and the run goes on later."""
    bucket, server = place
    number, reached, ended = 0, True, 0
    while reached:
        run = f"{bucket}/{number}/run"
        train = partial(cli, "train", tiny_dataset, "--run", run, *SHORT, "-q")
        code, reached = tried(run, server, fault, number, lasting, capsys, train)
        ended += code != 0
        if code:
            goes_on(run, tiny_dataset, short, cli)
        else:
            assert fetched(run) == short
        number += 1
    assert number > 25
    assert (ended > 15) == lasting


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_any_request_of_another_machine_fails(fault, lasting, place, tiny_dataset, short, cli, capsys):
    """It takes a run over, of which it has nothing: it reads everything, and lists what there is."""
    bucket, server = place
    run = f"{bucket}/run"
    assert cli("train", tiny_dataset, "--run", run, *SHORT, "-q") == 0
    number, reached, ended = 0, True, 0
    while reached:
        shutil.rmtree(os.environ["MARIUS_LITE_CACHE"])
        code, reached = tried(run, server, fault, number, lasting, capsys, partial(cli, "resume", run, "-q"))
        ended += code != 0
        number += 1
    assert number > 15
    assert (ended > 10) == lasting
    assert fetched(run) == short
