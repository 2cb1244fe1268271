"""Downloads: whatever the server does, the file is there whole and right, or the command says what is wrong."""

import hashlib
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from marius_lite.errors import RunError, UserError
from marius_lite.fetch.download import download
from marius_lite.fetch.recipe import RemoteFile

DATA = np.random.default_rng(0).bytes(30_000)
SHA256 = hashlib.sha256(DATA).hexdigest()
MD5 = hashlib.md5(DATA).hexdigest()


@pytest.fixture
def fetched(site, tmp_path):
    """Downloads `f` from these paths of the site, whose content is DATA unless it has other."""

    def run(*paths, **published):
        for path in paths:
            site.content.setdefault(path, DATA)
        file = RemoteFile(name="f", urls=[site.url(path) for path in paths], **published)
        return download(file, tmp_path / "raw").read_bytes()

    return run


def ranges(site):
    return [wanted for _, wanted, _ in site.asked]


def left(tmp_path):
    return sorted(path.name for path in (tmp_path / "raw").iterdir())


def test_a_file_comes_whole_with_the_checksum_of_what_came(fetched, site, tmp_path):
    assert fetched("a") == DATA
    record = json.loads((tmp_path / "raw/f.fetched").read_text())
    assert record == {
        "url": site.url("a"),
        "size": len(DATA),
        "sha256": SHA256,
        "published": "no checksum: this is the one of what came",
    }
    assert left(tmp_path) == ["f", "f.fetched"]


def test_what_is_there_is_not_asked_for_again_but_compared(fetched, site, tmp_path):
    fetched("a")
    assert fetched("a") == DATA
    assert len(site.asked) == 1
    (tmp_path / "raw/f").write_bytes(DATA[:-1] + b"x")
    with pytest.raises(UserError, match=r"was changed .*: remove it"):
        fetched("a")


@pytest.mark.parametrize("published", [{}, {"sha256": SHA256}, {"size": len(DATA), "md5": MD5}])
def test_a_cut_connection_goes_on_where_it_was_cut(fetched, site, published):
    site.faults["a"] = [("cut", 10_000), ("cut", 7_000), ("none",)]
    assert fetched("a", **published) == DATA
    assert ranges(site) == [None, "bytes=10000-", "bytes=17000-"]
    assert all(version for _, wanted, version in site.asked if wanted)


def test_a_server_that_ignores_ranges_begins_anew(fetched, site):
    site.faults["a"] = [("cut", 10_000), ("whole",)]
    assert fetched("a") == DATA


def test_a_file_that_changed_meanwhile_is_taken_whole(fetched, site):
    other = DATA[::-1]
    site.faults["a"] = [("cut", 10_000), ("none",)]
    before = site.asked.append

    class Asked(list):
        def append(self, item):
            before(item)
            if item[1]:
                site.content["a"] = other

    site.asked = Asked()
    assert fetched("a") == other


def test_without_a_version_and_a_checksum_nothing_is_put_together(fetched, site):
    site.faults["a"] = [("cut", 10_000, "bare"), ("bare",)]
    assert fetched("a") == DATA
    assert ranges(site) == [None, None]


def test_an_answer_for_another_part_is_refused(fetched, site):
    site.faults["a"] = [("cut", 10_000), ("shift",)]
    with pytest.raises(RunError, match="sends bytes from 10001 on, 10000 were asked for"):
        fetched("a")


def test_no_length_is_no_error(fetched, site):
    site.faults["a"] = [("chunked",)]
    assert fetched("a") == DATA


def test_a_redirect_is_followed(fetched, site):
    site.content["b"], site.faults["a"] = DATA, [("to", "/b")]
    assert fetched("a") == DATA
    assert [path for path, *_ in site.asked] == ["a", "b"]


def test_a_redirect_to_a_file_of_this_machine_is_refused(fetched, site):
    site.faults["a"] = [("to", "file:///etc/hostname")]
    with pytest.raises(RunError, match=r"HTTP 302 .*not allowed"):
        fetched("a")


def test_the_next_server_is_asked(fetched, site):
    site.faults["a"] = [("status", 404)]
    site.faults["b"] = [("page",)]
    site.content["c"] = DATA[:100]
    site.content["d"] = DATA[:-1] + b"x"
    site.content["e"] = DATA
    assert fetched("a", "b", "c", "d", "e", size=len(DATA), sha256=SHA256) == DATA
    assert [path for path, *_ in site.asked] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(("published", "wanted"), [({"sha256": SHA256}, "bytes=10000-"), ({}, None)])
def test_a_partial_download_goes_on_at_another_server_only_by_checksum(fetched, site, published, wanted):
    site.faults["a"] = [("cut", 10_000), ("status", 404)]
    assert fetched("a", "b", **published) == DATA
    assert site.asked[-1] == ("b", wanted, None)


def test_all_servers_failing_is_told_with_each_reason(fetched, site):
    site.faults["a"], site.faults["b"] = [("status", 403)], [("status", 503)]
    with pytest.raises(RunError, match=r"no server gives it: .*/a HTTP 403 .*; .*/b HTTP 503 .*--from"):
        fetched("a", "b")
    assert [path for path, *_ in site.asked] == ["a", *["b"] * 5]


@pytest.mark.parametrize("more", [-50, 50])
def test_a_length_that_is_not_kept_is_an_error(fetched, site, more):
    site.faults["a"] = [("long", more)]
    with pytest.raises(RunError, match="no server gives it"):
        fetched("a", size=len(DATA))


def test_a_wrong_checksum_is_an_error_and_leaves_nothing(fetched, site, tmp_path):
    with pytest.raises(RunError, match=rf"gave another file: md5 {MD5}, published is {'0' * 32}"):
        fetched("a", md5="0" * 32)
    assert not {"f", "f.part"} & {*left(tmp_path)}


def test_a_killed_download_goes_on(site, tmp_path):
    site.content["a"], site.faults["a"] = DATA, [("slow", 0.02), ("none",)]
    code = (
        "import sys, pathlib; import marius_lite.fetch.download as d; d.AT_ONCE = 1000; "
        "d.download(d.RemoteFile(name='f', urls=[sys.argv[1]]), pathlib.Path(sys.argv[2]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, site.url("a"), tmp_path / "raw"])
    part = tmp_path / "raw/f.part"
    while not (part.exists() and part.stat().st_size >= 3000):
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    have = part.stat().st_size
    assert 0 < have < len(DATA)
    assert download(RemoteFile(name="f", urls=[site.url("a")]), tmp_path / "raw").read_bytes() == DATA
    assert ranges(site)[-1] == f"bytes={have}-"
