"""The reference of the Python interface: signatures and docstrings of what is public, read without running it."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import marius_lite

PACKAGE = Path(__file__).resolve().parents[2] / "marius_lite"
CLASSES = {"Dataset": "graph.dataset", "NeighborLoader": "pyg", "LinkNeighborLoader": "pyg"}
"""Classes that public functions return or that are public themselves, and where they are."""


def page() -> str:
    lines = ["# Python", "", "`import marius_lite as ml`. Every function does what the command of its name does.", ""]
    for name, place in marius_lite._PUBLIC.items():
        module, inside = place.split(":")
        lines += described(f"ml.{name}", definition(module, inside))
    for name, place in CLASSES.items():
        made = definition(place, name)
        lines += described(name, made, 2)
        lines += [line for node in members(place, made) if public(node) for line in described(f"{name}.{node.name}", node, 3)]
    return "\n".join(lines)


def definition(module: str, inside: str) -> Any:
    """What a module or another one of its package defines by the name, which may lead into a class."""
    nodes = defined(module)
    for name in inside.split("."):
        found = next(each for each in nodes if getattr(each, "name", "") == name)
        nodes = members(module, found)
    return found


@cache
def defined(module: str) -> list[Any]:
    """What a module and the others of its package define."""
    place = PACKAGE / module.replace(".", "/")
    files = [place.with_suffix(".py"), *sorted((place if place.is_dir() else place.parent).glob("*.py"))]
    return [node for file in files if file.exists() for node in ast.parse(file.read_text()).body]


def members(module: str, made: Any) -> list[Any]:
    """A class's own, and those of the classes that it is derived from."""
    bases = {base.id for base in getattr(made, "bases", []) if isinstance(base, ast.Name)}
    own = list(getattr(made, "body", []))
    for base in [each for each in defined(module) if getattr(each, "name", "") in bases]:
        taken = {getattr(each, "name", "") for each in own}
        own += [each for each in members(module, base) if getattr(each, "name", "") not in taken]
    return own


def public(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and ast.get_docstring(node) is not None


def described(name: str, node: ast.AST, level: int = 2) -> list[str]:
    lines = [f"{'#' * level} {name}", ""]
    if isinstance(node, ast.FunctionDef):
        if any(getattr(each, "id", "") in ("property", "cached_property") for each in node.decorator_list):
            shown = f"{name}: {ast.unparse(node.returns) if node.returns else 'Any'}"
        else:
            given = [part for part in signature(node.args) if part not in ("self", "cls")]
            one = f"{name}({', '.join(given)})"
            shown = one if len(one) < 90 else f"{name}(\n    " + ",\n    ".join(given) + ",\n)"
            shown += f" -> {ast.unparse(node.returns)}" if node.returns else ""
        lines += ["```python", shown, "```", ""]
    return [*lines, inspect.cleandoc(ast.get_docstring(node) or ""), ""]


def signature(given: ast.arguments) -> list[str]:
    """Its parameters as they are written."""
    whole = given.posonlyargs + given.args
    values = [None] * (len(whole) - len(given.defaults)) + list(given.defaults)
    parts = [written(each, value) for each, value in zip(whole, values)]
    parts += [f"*{given.vararg.arg}"] if given.vararg else ["*"] if given.kwonlyargs else []
    parts += [written(each, value) for each, value in zip(given.kwonlyargs, given.kw_defaults)]
    return parts + ([f"**{given.kwarg.arg}"] if given.kwarg else [])


def written(each: ast.arg, value: ast.expr | None) -> str:
    return ast.unparse(each) + (f" = {ast.unparse(value)}" if value else "")
