"""What servers answer, before a byte of it is kept."""

import urllib.error
import urllib.request

import pytest

from marius_lite.fetch.answer import ServerError, _Redirects, asked


def test_an_answer_says_where_it_begins_and_what_it_is_of(site):
    site.content["a"] = bytes(range(200))
    with asked(site.url("a")) as answer:
        assert (answer.start, answer.total) == (0, 200)
        mark = answer.mark
    with asked(site.url("a"), 150, mark) as answer:
        assert (answer.start, answer.total, answer.mark) == (150, 200, mark)
        assert answer.stream.read() == bytes(range(150, 200))
    with asked(site.url("a"), 150, '"another"') as answer:
        assert answer.start == 0


@pytest.mark.parametrize(("code", "passing"), [(404, False), (403, False), (503, True), (429, True)])
def test_what_may_pass_is_told_from_what_stays(site, code, passing):
    site.faults["a"] = [("status", code)]
    with pytest.raises(ServerError, match=str(code)) as raised, asked(site.url("a")):
        pass
    assert raised.value.passing == passing


def test_a_server_that_is_not_there_may_come_back():
    with pytest.raises(ServerError, match="refused") as raised, asked("http://127.0.0.1:1/a"):
        pass
    assert raised.value.passing


@pytest.mark.parametrize("safe", [True, False])
def test_https_leads_to_https_alone(safe):
    request = urllib.request.Request("https://here.example/a")
    there = f"http{'s' if safe else ''}://there.example/a?key=1"
    if safe:
        assert _Redirects().redirect_request(request, None, 302, "Found", {}, there).full_url == there
        return
    with pytest.raises(urllib.error.HTTPError, match=r"leads to http://there.example/a, which is not https"):
        _Redirects().redirect_request(request, None, 302, "Found", {}, there)
