"""Make one checked `Config` from YAML, ``--set key.path=value`` and dicts. Errors name the key, the value and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from marius_lite.config import presets
from marius_lite.config.recorded import is_record, of_any_machine
from marius_lite.config.rules import check_rules
from marius_lite.config.schema import Config
from marius_lite.config.yaml_text import MOST_SHOWN, parse_yaml, shown
from marius_lite.errors import UserError

MOST_MEANT = 3
"""Keys of the same name in other sections that an error names."""


def load(file: Path | str | None = None, sets: Sequence[str] = (), values: Mapping[str, Any] | None = None) -> Config:
    """Load a configuration. Values of ``file`` come first, then ``values`` over them, then each ``key.path=value`` of ``sets``.

    ``file``: a YAML file, `preset:NAME`, or the config.yaml of a run, of which machine and dataset are left out. Raises UserError
    for unknown keys and values that are not allowed.
    """
    over = settings(sets, values)
    tree = _base(str(file), over) if file else {}
    of_a_file = file is not None and not str(file).startswith(presets.PREFIX)
    return check(presets.merged(tree, over), str(file) if of_a_file else "configuration")


def require_config(given: object) -> None:
    """Raise UserError for what was given as a configuration, or a function that makes one, and is neither: a dict, say."""
    if not (given is None or isinstance(given, Config) or callable(given)):
        kind = type(given).__name__
        raise UserError(
            f"config: found {kind}: make a configuration with ml.load_config: of a dict as `values`, of a YAML file as `file`"
        )


def settings(sets: Sequence[str], values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return each ``key.path=value`` of ``sets`` over ``values``, as sections. Raises UserError for what is no setting."""
    over: dict[str, Any] = dict(values or {})
    for item in sets:
        over = presets.merged(over, _setting(item))
    return over


def _base(file: str, over: dict[str, Any]) -> dict[str, Any]:
    """Read the file or preset. A preset depends on the decoder, which ``over`` may name."""
    if not file.startswith(presets.PREFIX):
        tree = _read_yaml(Path(file))
        return of_any_machine(tree["config"]) if is_record(tree) else tree
    model = over.get("model")
    decoder = model.get("decoder") if isinstance(model, dict) else None
    return presets.read(file.removeprefix(presets.PREFIX), decoder if isinstance(decoder, str) else None)


def _setting(item: str) -> dict[str, Any]:
    path, separator, text = item.partition("=")
    if not separator or not path:
        raise UserError(f"--set {item}: write key.path=value, for example --set training.epochs=20")
    return _nest(path.strip().split("."), _parse(text, item))


def check(tree: Mapping[str, Any], where: str) -> Config:
    """Turn a dict of sections into a Config. Raises UserError with one line for the first thing that is wrong."""
    config = validated(tree, where)
    check_rules(config, where)
    return config


def validated(tree: Mapping[str, Any], where: str) -> Config:
    """Turn a dict of sections into a Config, each setting checked for itself alone. Raises UserError for a wrong one."""
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        raise UserError(f"{where}: {_explain(error)}") from None


def _read_yaml(file: Path) -> dict[str, Any]:
    try:
        tree = parse_yaml(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{file}: no such configuration file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from None
    except ValueError as error:
        raise UserError(f"{file}: not valid YAML: {error}") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise UserError(f"{file}: expected sections such as `model:`, found {type(tree).__name__}")
    return tree


def _parse(text: str, item: str) -> Any:
    try:
        return parse_yaml(text)
    except ValueError as error:
        raise UserError(f"--set {item[:MOST_SHOWN]}: not a valid value: {error}") from None


def _nest(path: list[str], value: Any) -> dict[str, Any]:
    return {path[0]: _nest(path[1:], value) if len(path) > 1 else value}


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    keys = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        known = _keys_beside(keys)
        near = difflib.get_close_matches(keys[-1], known, n=1, cutoff=0.5)
        meant = list(_paths_to(keys[-1])) or [".".join([*keys[:-1], key]) for key in near]
        hint = f"did you mean {' or '.join(f'`{path}`' for path in meant[:MOST_MEANT])}? " if meant else ""
        return f"unknown key `{'.'.join(keys)}`: {hint}known keys here: {', '.join(known)}"
    path = _schema_path(keys)
    said = dict.fromkeys(e["msg"] for e in error.errors() if _schema_path(list(map(str, e["loc"]))) == path)
    start = "Input should be "  # one of these would be enough: each is a branch of a union
    allowed = ", or ".join(each.removeprefix(start) if number else each for number, each in enumerate(said))
    return f"`{'.'.join(path)}` is {shown(first['input'])}: {allowed}"


def _schema_path(keys: list[str]) -> list[str]:
    """Return the part of an error's location that is made of keys. The rest names branches of a union."""
    section: type[BaseModel] | None = Config
    path = []
    for key in keys:
        if section is None or key not in section.model_fields:
            break
        path.append(key)
        section = _section_of(section, key)
    return path or keys


def _keys_beside(keys: list[str]) -> list[str]:
    """Return the keys that the section of an unknown key has."""
    section: type[BaseModel] | None = Config
    for key in keys[:-1]:
        section = _section_of(section, key) if section else None
    return list(section.model_fields) if section else []


def _paths_to(name: str, section: type[BaseModel] = Config, above: str = "") -> Iterator[str]:
    """Yield the paths of all keys with this name, in whichever section."""
    for key in section.model_fields:
        if inner := _section_of(section, key):
            yield from _paths_to(name, inner, f"{above}{key}.")
        elif key == name:
            yield above + key


def _section_of(section: type[BaseModel], key: str) -> type[BaseModel] | None:
    annotation = section.model_fields[key].annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
