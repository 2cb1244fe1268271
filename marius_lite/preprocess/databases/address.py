"""Where a database is, and what may be said of it: neither its user nor any password."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from marius_lite.errors import UserError

URI = re.compile(r"([a-z]+)://(.*)", re.DOTALL)
SECRET = re.compile(
    r"((?:password|passwd|pwd|secret|token)\w*\s*(?:=\s*|(?=['\"])))('[^']*'|\"[^\"]*\"|[^\s&'\"]+)", re.IGNORECASE
)
HIDDEN = "***"
ALIASES = {"postgres": "postgresql"}


@dataclass(frozen=True)
class Address:
    """``uri``: as it was given, never to be shown. ``shown``: the same without user, password and parameters."""

    scheme: str
    uri: str = field(repr=False)
    shown: str

    @property
    def path(self) -> Path:
        """The file of a database that is one: ``sqlite:///relative.db``, ``sqlite:////absolute.db``."""
        return Path(_rest(self.uri).removeprefix("/"))

    @property
    def user(self) -> str:
        return _rest(self.uri).rpartition("@")[0].partition(":")[0]

    def redact(self, said: object) -> str:
        """Return what a driver says as one line, without anything that is secret."""
        text = hide_secrets(" ".join(str(said).split())).replace(self.uri, self.shown)
        for secret in _secrets(self.uri):
            text = text.replace(secret, HIDDEN)
        return text


def parse_address(uri: str, schemes: tuple[str, ...]) -> Address:
    """Return the address. Raises UserError for a scheme that is none of ``schemes``."""
    found = URI.fullmatch(uri.strip())
    scheme = ALIASES.get(found[1], found[1]) if found else ""
    if found is None or scheme not in schemes:
        raise UserError(
            f"--database {_shown(scheme, uri)}: must be sqlite:///FILE, duckdb:///FILE or postgresql://HOST/NAME "
            "(four slashes before an absolute FILE)"
        )
    return Address(scheme, uri.strip(), _shown(scheme, uri))


def hide_secrets(text: str) -> str:
    """Return a text, such as a query, with ``***`` in place of what follows the word password, secret or token."""
    return SECRET.sub(rf"\1{HIDDEN}", text)


def _rest(uri: str) -> str:
    return uri.partition("://")[2]


def _shown(scheme: str, uri: str) -> str:
    """Return an address up to its parameters. Whatever stands before the last @ may be a password, however it is written."""
    if "://" not in uri:
        return hide_secrets(uri.rpartition("@")[2])
    return f"{scheme or uri.partition('://')[0]}://{re.split('[?&#]', _rest(uri).rpartition('@')[2])[0]}"


def _secrets(uri: str) -> list[str]:
    """Return the passwords of an address and of the environment, as they are written and as they are meant."""
    user = _rest(uri).rpartition("@")[0]
    found = [user.partition(":")[2], *re.findall(r"[?&](?:ssl)?password=([^&#]*)", uri), os.environ.get("PGPASSWORD", "")]
    return sorted({form for one in found for form in (one, unquote(one)) if form}, key=len, reverse=True)
