"""What a client of object storage needs to know: from the standard environment and files alone."""

from __future__ import annotations

import configparser
import os
from pathlib import Path
from typing import Any

from marius_lite.errors import UserError
from marius_lite.remote.address import BucketAddress
from marius_lite.remote.failures import ALLOW_HTTP, plain_http

KEYS = {"aws_access_key_id": "access_key_id", "aws_secret_access_key": "secret_access_key", "aws_session_token": "session_token"}
"""Names in ~/.aws/credentials, and what obstore calls them."""
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


def of_files(address: BucketAddress) -> dict[str, str]:
    """Return the credentials and the region that ~/.aws says, where the environment says none. Raises UserError for a damaged
    file, and for a profile that does not exist.

    obstore reads the environment by itself, Google's and Azure's files too.
    """
    if address.scheme != "s3":
        return {}
    profile, found = os.environ.get("AWS_PROFILE"), dict[str, str]()
    has_keys = "AWS_ACCESS_KEY_ID" in os.environ
    sections = [
        (_read("AWS_SHARED_CREDENTIALS_FILE", "credentials"), profile or "default"),
        (_read("AWS_CONFIG_FILE", "config"), f"profile {profile}" if profile and profile != "default" else "default"),
    ]
    if profile and not has_keys and not any(parser.has_section(section) for parser, section in sections):
        raise UserError(f"AWS_PROFILE is {profile!r}, which neither ~/.aws/credentials nor ~/.aws/config has")
    for parser, section in sections:
        for name, value in parser.items(section, raw=True) if parser.has_section(section) else ():
            if name in KEYS and not has_keys:
                found.setdefault(KEYS[name], value)
            elif name == "region" and not {"AWS_REGION", "AWS_DEFAULT_REGION"} & set(os.environ):
                found.setdefault("region", value)
    return found


def _read(variable: str, name: str) -> configparser.ConfigParser:
    path = Path(os.environ.get(variable) or Path.home() / ".aws" / name).expanduser()
    parser = configparser.ConfigParser(interpolation=None, default_section="\0")
    try:
        parser.read(path)
    except (configparser.Error, UnicodeDecodeError, OSError) as error:  # what it says may show a line, and so a secret
        raise UserError(
            f"{path}: cannot be read ({type(error).__name__}): it should be as the AWS command line writes it"
        ) from None
    return parser


def client_options(address: BucketAddress) -> dict[str, Any]:
    """Return whether plain http is allowed. Raises UserError for an endpoint of plain http that nobody allowed."""
    allowed = os.environ.get(ALLOW_HTTP, "").lower() in ("1", "true", "yes", "on")
    endpoint = next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), "") if address.scheme == "s3" else ""
    if endpoint.startswith("http://") and not allowed:
        raise plain_http(str(address))
    return {"allow_http": allowed}
