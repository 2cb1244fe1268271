"""Find recipes: those that come with the package, by name, and others, by their file."""

from __future__ import annotations

import difflib
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from marius_lite.config.yaml_text import parse_yaml, shown
from marius_lite.errors import UserError
from marius_lite.fetch.recipe import Recipe

SUFFIX = ".yaml"


def names() -> list[str]:
    """Return the names of the recipes that come with the package."""
    return sorted(
        (item.name.removesuffix(SUFFIX) for item in files("marius_lite.fetch").joinpath("recipes").iterdir()), key=str.lower
    )


def read_recipe(name: str | Path) -> Recipe:
    """Return a recipe by its name, whatever its case, or the one in a YAML file. Raises UserError: file, key, what is allowed."""
    text = str(name)
    if text.endswith((SUFFIX, ".yml")):
        return parse_recipe(_text_of(Path(text)), text)
    known = {each.lower(): each for each in names()}
    if text.lower() not in known:
        near = difflib.get_close_matches(text.lower(), known, n=1)
        hint = f"did you mean {known[near[0]]}? " if near else ""
        raise UserError(f"{text}: no such dataset: {hint}`marius-lite fetch` lists them; a recipe of yours is named FILE.yaml")
    found = known[text.lower()]
    path = files("marius_lite.fetch").joinpath(f"recipes/{found}{SUFFIX}")
    return parse_recipe(path.read_text(encoding="utf-8"), f"recipe {found}")


def parse_recipe(text: str, where: str) -> Recipe:
    """Return the recipe in a YAML text. Raises UserError for what is none."""
    try:
        tree: Any = parse_yaml(text)
        return Recipe.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        if first["type"] == "missing":
            raise UserError(f"{where}: `{key}` is missing") from None
        said = str(first["msg"]).removeprefix("Value error, ")
        found = f"`{key}` is {shown(first['input'])}: " if key else ""
        raise UserError(f"{where}: {found}{said}") from None
    except ValueError as error:
        raise UserError(f"{where}: not valid YAML: {error}") from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UserError(f"{path}: cannot be read ({reason}): name a recipe in YAML") from None
