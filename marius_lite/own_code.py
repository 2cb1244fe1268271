"""Decide whether code that is not installed may be imported. The configuration that names it may be somebody else's."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path

from marius_lite.errors import UserError

OPTION, VARIABLE = "--allow-code", "MARIUS_LITE_ALLOW_CODE"
_allowed: ContextVar[bool] = ContextVar("allowed", default=False)


@contextmanager
def allowing_code(allowed: bool) -> Iterator[None]:
    """Allow code from anywhere to be imported until the block ends, if ``allowed``."""
    token = _allowed.set(allowed or _allowed.get())
    try:
        yield
    finally:
        _allowed.reset(token)


def code_allowed() -> bool:
    """Return whether the user allowed code from anywhere, by the option or by the environment."""
    return _allowed.get() or os.environ.get(VARIABLE) == "1"


def require_installed(module: str, what: str) -> None:
    """Raise UserError, which begins with ``what``, for a module that is not wholly in the folders of installed packages.

    Nothing is imported. The top package decides, because all below it is found in its folders.
    """
    top = module.partition(".")[0]
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):  # ValueError: the module __main__ has no spec
        spec = None
    if spec is None:
        raise UserError(
            f"{what}: no package {top!r} is installed: install it, or allow modules of the working folder with "
            f"{OPTION} (or {VARIABLE}=1) if you trust them"
        )
    if spec.origin in ("built-in", "frozen"):
        return
    installed = _installed()
    for place in spec.submodule_search_locations or [spec.origin or top]:
        if not any(Path(place).resolve().is_relative_to(folder) for folder in installed):
            raise UserError(
                f"{what}: would run {place}, which is not an installed package: allow it with {OPTION} (or "
                f"{VARIABLE}=1) if you trust it"
            )


def _installed() -> list[Path]:
    """Return the folders of the standard library and of installed packages."""
    paths = sysconfig.get_paths()
    found = [*(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")), *site.getsitepackages()]
    return [Path(folder).resolve() for folder in (*found, *([site.getusersitepackages()] if site.ENABLE_USER_SITE else []))]
