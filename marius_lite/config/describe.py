"""Write docs/configuration.md from the schema: python -m marius_lite.config.describe docs/configuration.md"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from marius_lite.config.names import NameOf
from marius_lite.config.schema import Config


def as_markdown() -> str:
    """Return the page: one table of key, default, meaning and allowed names."""
    lines = [
        "# Configuration",
        "",
        "One schema for YAML files (`--config`), `--set key.path=value` and the Python API.",
        "",
        "`plan` prints what `auto` becomes.",
        "",
        "| key | default | meaning |",
        "|---|---|---|",
    ]
    for path, field in keys(Config):
        default = field.get_default(call_default_factory=True)
        meaning = field.description or ""
        names = [name for mark in field.metadata if isinstance(mark, NameOf) for name in mark.names] or _names(field.annotation)
        allowed = f". One of: {', '.join(names)}" if len(names) > 1 else ""
        lines.append(f"| `{path}` | {_text(default)} | {meaning}{allowed} |")
    return "\n".join(lines) + "\n"


def keys(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield (key.path, field) of every setting in a section and in the sections below it."""
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from keys(inner, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def _names(annotation: object) -> list[str]:
    """Return the names that a Literal, or a union with one, allows."""
    if get_origin(annotation) is Literal:
        return [str(name) for name in get_args(annotation)]
    return [name for part in get_args(annotation) for name in _names(part)]


def _text(value: object) -> str:
    """Return the value as YAML writes it."""
    return {"True": "true", "False": "false", "None": "null"}.get(str(value), str(value))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_markdown())
