"""Say in one line, without credentials, what went wrong with object storage, and whether it may pass."""

from __future__ import annotations

import os
import re

from marius_lite.errors import RunError, UserError
from marius_lite.files import MOST_REASON
from marius_lite.printable import printable

STATUS = re.compile(r"status code: (\d{3})")
SAYS = re.compile(r"<(Code|Message)>([^<>]{1,200})<")
SECRET = re.compile(r"KEY|SECRET|TOKEN|PASS|CRED|SAS|SIGNATURE")
SHORTEST_SECRET = 6
PASSING = {408, 425, 429}
"""What a server answers to a request that may be asked again, beside its own failures (500 and above)."""
ALLOW_HTTP = "AWS_ALLOW_HTTP"
"""What allows plain http, in the environment."""
MEANT = {
    "error sending request": "the server cannot be reached, or is silent",
    "body error": "the connection was cut, or the server is silent",
    "decoding response body": "the connection was cut, or the server is silent",
}
"""What the client library says of connections, and what it means."""
CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, ...",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, ...",
    "az": "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY, ...",
}
"""Where each kind of object storage looks for credentials, among others."""
PLAIN_HTTP = "builder error"
"""What the client library says where it may not speak plain http."""
REFUSED = ("PermissionDeniedError", "UnauthenticatedError")
FINAL = (*REFUSED, "NotFoundError", "FileNotFoundError", "AlreadyExistsError", "PreconditionError", "NotSupportedError",
         "InvalidPathError", "UnknownConfigurationKeyError", "NotImplementedError", "ValueError")  # fmt: skip
"""The names of errors that come again if the same is asked again."""


class Damaged(Exception):
    """What arrived is not what was sent there. It is asked for again."""


def may_pass(error: BaseException) -> bool:
    """Return whether it makes sense to ask again after this error."""
    if isinstance(error, Damaged):
        return True
    if type(error).__name__ in FINAL or isinstance(error, (TypeError, AttributeError)):
        return False
    status = STATUS.search(str(error))
    return status is None or int(status[1]) >= 500 or int(status[1]) in PASSING


def is_absent(error: BaseException) -> bool:
    """Return whether a server says that there is no such object."""
    return type(error).__name__ in ("NotFoundError", "FileNotFoundError")


def is_taken(error: BaseException) -> bool:
    """Return whether a conditional request found another object than it asked for, or any where there should be none."""
    return type(error).__name__ in ("AlreadyExistsError", "PreconditionError")


def told(where: str, error: BaseException, secrets: tuple[str, ...] = ()) -> RunError | UserError:
    """Return an error of one line about the object or address ``where``. ``secrets``: what may not stand in it."""
    text = str(error)
    status = STATUS.search(text)
    if type(error).__name__ in REFUSED or (status and status[1] in ("401", "403")):
        return UserError(f"{where}: the server refuses access: give credentials in {_sources(where)}{_said(text, secrets)}")
    if is_absent(error):
        return UserError(f"{where}: there is no such object or bucket")
    if PLAIN_HTTP in text:
        return plain_http(where)
    if isinstance(error, Damaged):
        return RunError(f"{where}: {error}, and again each time that it was asked for: put a sound copy there")
    if status and status[1].startswith("3"):
        return UserError(f"{where}: the server says that the bucket is elsewhere: set AWS_REGION")
    answer = f"the server answers {status[1]}{_said(text, secrets)}" if status else _reason(text, secrets)
    return RunError(f"{where}: {answer}: it was asked several times; run the same command again, or `marius-lite resume`")


def plain_http(where: str) -> UserError:
    """Return an error about an endpoint of plain http that nobody allowed."""
    return UserError(
        f"{where}: the endpoint is plain http, which others can read and change on the way: set {ALLOW_HTTP}=true to allow it, "
        "or an endpoint of https"
    )


def unsound(where: str, error: BaseException, secrets: tuple[str, ...] = ()) -> UserError:
    """Return an error about what the environment says of object storage: nothing was asked yet."""
    return UserError(f"{where}: {_reason(str(error), secrets)}: look at {_sources(where)}")


def _sources(where: str) -> str:
    return f"the standard environment or files ({CREDENTIALS[where.partition(':')[0]]})"


def _said(text: str, secrets: tuple[str, ...]) -> str:
    found = " ".join(dict.fromkeys(value for _, value in SAYS.findall(text)))
    return f" ({_clean(found, secrets)})" if found else ""


def _reason(text: str, secrets: tuple[str, ...]) -> str:
    """Return the last part of the first line: before it stand the request and the store."""
    first = text.partition("\n")[0].rpartition(" - ")[2] or "no answer"
    for said, meant in MEANT.items():
        if said in first:
            return meant
    return _clean(first, secrets)


def _clean(text: str, secrets: tuple[str, ...]) -> str:
    """Return a text without credentials and without what a terminal would obey."""
    for secret in sorted({*secrets, *_secrets_of_the_environment()}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return printable(re.sub(r"\?\S*", "", text))[:MOST_REASON]


def _secrets_of_the_environment() -> list[str]:
    return [value for name, value in os.environ.items() if SECRET.search(name.upper()) and len(value) >= SHORTEST_SECRET]
