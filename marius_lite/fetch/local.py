"""Take files from this machine instead of a server: a file, a folder that holds them, or an archive of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from marius_lite import files
from marius_lite.errors import UserError
from marius_lite.fetch.download import checksums, compared
from marius_lite.fetch.recipe import Recipe, RemoteFile
from marius_lite.fetch.unpack import is_archive, unpack


def take(recipe: Recipe, given: Path, folder: Path) -> list[Path]:
    """Return the paths in ``folder`` of a recipe's files, which are linked or copied from ``given``.

    Raises UserError for a file that is not there, or that is not the published one.
    """
    if not given.exists():
        raise UserError(f"--from {given}: no such file or folder")
    wanted = [file.name for file in recipe.files]
    if given.is_dir():
        return [_placed(file, _within(given, file.name), folder) for file in recipe.files]
    if len(wanted) == 1 and not (is_archive(given) and wanted[0] not in recipe.unpack):
        return [_placed(recipe.files[0], given, folder)]
    if not is_archive(given):
        raise UserError(
            f"--from {given}: {recipe.name} has the files {', '.join(wanted)}: name their folder, or an archive of them"
        )
    _forget(recipe, folder)
    unpack(given, {name: name for name in wanted}, folder)
    return [_checked(file, folder / file.name, given) for file in recipe.files]


def _within(folder: Path, name: str) -> Path:
    path = folder / name
    if path.is_file():
        return path
    archives = [each for each in sorted(folder.iterdir()) if is_archive(each)]
    hint = f": if it is in {archives[0].name}, give the archive itself: --from {archives[0]}" if archives else ""
    raise UserError(f"--from {folder}: has no file {name}{hint}")


def _forget(recipe: Recipe, folder: Path) -> None:
    """Remove what was there: it may be of another source."""
    for file in recipe.files:
        for name in (file.name, f"{file.name}.fetched"):
            (folder / name).unlink(missing_ok=True)


def _placed(file: RemoteFile, source: Path, folder: Path) -> Path:
    """Link a file into ``folder``, or copy it where it is on another disk."""
    target = folder / file.name
    if target.exists() and target.samefile(source):
        return _checked(file, target, source)
    files.make_folder(target.parent)
    beside = target.with_name(target.name + ".tmp")
    beside.unlink(missing_ok=True)
    with files.disk_errors(target):
        try:
            os.link(source.resolve(), beside)  # the file, not a symbolic link to it, which may be relative
        except OSError:
            files.require_space(target, source.stat().st_size, f"a copy of {source}")
            shutil.copyfile(source, beside)
            files.sync(beside)
        (folder / f"{file.name}.fetched").unlink(missing_ok=True)
        files.publish(beside, target)
    return _checked(file, target, source)


def _checked(file: RemoteFile, path: Path, source: Path) -> Path:
    if (file.size or file.sha256 or file.md5) and (wrong := compared(checksums(path), file)):
        path.unlink()
        raise UserError(f"--from {source}: {file.name}: {wrong}: it is another file than the recipe is for")
    return path
