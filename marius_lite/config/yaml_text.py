"""Parse YAML text into plain values, or say in one line why it cannot be parsed."""

from __future__ import annotations

import reprlib
from typing import Any

import yaml

MOST_SHOWN = 200  # characters of a value in a message


def parse_yaml(text: str | bytes) -> Any:
    """Return the value of a YAML document. Raises ValueError, in one line, for text that is not YAML.

    PyYAML raises more than its own errors: ValueError for a date that does not exist or an integer of more than 4,300 digits;
    RecursionError for thousands of brackets; KeyError, IndexError or AttributeError for a tag on a value that it does not fit.
    """
    try:
        return yaml.safe_load(text)
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {' '.join(str(error).split())[:MOST_SHOWN]}") from error


def shown(value: object) -> str:
    """Return a value as Python writes it, cut to the length of a message. A YAML file can repeat a value billions of times."""
    short = reprlib.Repr()
    short.maxlevel = 3
    short.maxstring = short.maxother = short.maxlong = MOST_SHOWN
    try:
        return short.repr(value)
    except ValueError:  # an integer of more than 4,300 digits, in hexadecimal
        return "an integer beyond all bounds"
