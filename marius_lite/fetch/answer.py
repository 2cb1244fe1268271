"""Ask a server for a file from some byte on, and tell what it answers."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlsplit

import marius_lite

SECONDS = 60.0
"""How long a server may say nothing."""
PARTIAL = 206
RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
FOR_A_WHILE = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which the same server is asked again."""


class ServerError(Exception):
    """A server that does not give the file. ``passing``: whether it may do so if it is asked again."""

    def __init__(self, reason: str, passing: bool):
        super().__init__(reason)
        self.passing = passing


@dataclass(frozen=True)
class Answer:
    """What a server sends: bytes of a file, from byte ``start`` on.

    ``total``: the bytes of the whole file, None where the server does not say. ``mark``: what tells this version of the file
    from others (an ETag or a date), None where there is nothing of the kind.
    """

    stream: IO[bytes]
    start: int
    total: int | None
    mark: str | None


@contextmanager
def asked(url: str, start: int = 0, mark: str | None = None) -> Iterator[Answer]:
    """Ask for the bytes of a file from ``start`` on, if it still is the version ``mark``. The answer may begin at 0 all the same.

    Raises ServerError for an answer without the file.
    """
    headers = {"User-Agent": f"marius-lite/{marius_lite.__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if mark is not None:
            headers["If-Range"] = mark
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.build_opener(_Redirects).open(request, timeout=SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            raise ServerError(f"HTTP {error.code} {error.reason}", error.code in FOR_A_WHILE) from None
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(_reason(error), passing=True) from None
    with response:
        yield _answer(response, response.headers, response.status)


@contextmanager
def cut_connections() -> Iterator[None]:
    """Turn what reading from a connection raises into a ServerError. Errors of the disk must not be raised in the block."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(_reason(error), passing=True) from None


def _answer(stream: Any, headers: Mapping[str, str], status: int) -> Answer:
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise ServerError("gives a web page instead of the file", passing=False)
    if headers.get("Content-Encoding", "identity").lower() not in ("identity", ""):
        raise ServerError(f"sends it encoded ({headers['Content-Encoding']})", passing=False)
    etag, date = headers.get("ETag"), headers.get("Last-Modified")
    mark = etag if etag and not etag.startswith("W/") else date
    length = headers.get("Content-Length", "")
    if status != PARTIAL:
        return Answer(stream, 0, int(length) if length.isdigit() else None, mark)
    found = RANGE.fullmatch(headers.get("Content-Range", "").strip())
    if not found:
        raise ServerError("answers for a part of the file without saying which", passing=False)
    return Answer(stream, int(found[1]), int(found[2]), mark)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but not from https to http. Those to anything else are refused by urllib."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urlsplit(req.full_url).scheme == "https" != urlsplit(newurl).scheme:
            raise urllib.error.HTTPError(
                req.full_url, code, f"leads to {newurl.partition('?')[0]}, which is not https", headers, fp
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _reason(error: Exception) -> str:
    inner = error.reason if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception) else error
    return " ".join((getattr(inner, "strerror", None) or str(inner) or type(inner).__name__).split())[:200]
