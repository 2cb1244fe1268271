"""Download a file from the first of its servers that gives it. What a killed or cut download left is gone on with.

<name>.part        the bytes so far, and <name>.part.json: where they come from, and which version of the file they are of
<name>             the file, once it is whole and its size and checksums are right
<name>.fetched     its record: address, size, sha256 of the bytes that came, and whether that was published or is only what came
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.errors import RunError, UserError
from marius_lite.fetch.answer import Answer, ServerError, asked, cut_connections
from marius_lite.fetch.recipe import RemoteFile
from marius_lite.log import log
from marius_lite.printable import printable
from marius_lite.progress_bar import progress_bar

AT_ONCE = 1 << 20
TRIES = 5
"""How often a server is asked in a row without a byte that is new."""
PAUSE = 1.0
"""Seconds before a server is asked again; twice as many each further time."""


def download(file: RemoteFile, folder: Path) -> Path:
    """Return the path of a file in ``folder``, which is downloaded where it is not there yet.

    A file that is there is compared with its record again, all of it. Raises RunError where no server gives it, or what comes is
    not what was published; UserError for a file that was changed.
    """
    path, record = folder / file.name, folder / f"{file.name}.fetched"
    files.make_folder(path.parent)
    if path.exists():
        _compare(path, record, file)
        return path
    reasons = []
    for url in file.urls:
        log.info(printable(f"downloading {file.name} from {url}"))
        try:
            _from_server(url, file, folder)
            sums = _check(_part(path), file)
            files.write_atomic(record, json.dumps({"url": url, **sums}, indent=1).encode())
            files.publish(_part(path), path)
            _mark_file(path).unlink(missing_ok=True)
            return path
        except ServerError as error:
            reasons.append(f"{url} {error}")
            log.warning(printable(f"{url}: {error}"))
    raise RunError(
        f"{file.name}: no server gives it: {'; '.join(reasons)}: run the same command again later, or get the file from "
        "elsewhere and give it with --from"
    )


def checksums(path: Path) -> dict[str, Any]:
    """Return size, sha256 and md5 of a file."""
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with files.disk_errors(path), open(path, "rb") as stream, progress_bar(f"check {path.name}", "B", path.stat().st_size) as bar:
        while block := stream.read(AT_ONCE):
            sha256.update(block)
            md5.update(block)
            bar.update(len(block))
        return {"size": stream.tell(), "sha256": sha256.hexdigest(), "md5": md5.hexdigest()}


def compared(sums: dict[str, Any], file: RemoteFile) -> str | None:
    """Return what of a file is not as published, None where all is. ``sums``: what `checksums` says of it."""
    for kind in ("size", "sha256", "md5"):
        published = getattr(file, kind)
        if published is not None and sums[kind] != published:
            return f"{kind} {sums[kind]}, published is {published}"
    return None


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _mark_file(path: Path) -> Path:
    return path.with_name(path.name + ".part.json")


def _compare(path: Path, record: Path, file: RemoteFile) -> None:
    """Compare a file that is there with its record, and with what was published."""
    sums = checksums(path)
    try:
        expected = {"size": sums["size"], "sha256": sums["sha256"], **files.read_json(record)}
    except (OSError, ValueError):
        expected = sums
    wrong = compared(sums, file)
    if wrong is None and (sums["size"], sums["sha256"]) != (expected["size"], expected["sha256"]):
        wrong = f"sha256 {sums['sha256']}, {expected['sha256']} was downloaded"
    if wrong:
        raise UserError(f"{path}: was changed ({wrong}): remove it, and the same command downloads it again")


def _check(part: Path, file: RemoteFile) -> dict[str, Any]:
    """Check a download that is whole. What is wrong is removed. Raises ServerError, so that the next server is asked."""
    files.sync(part)
    sums = checksums(part)
    if wrong := compared(sums, file):
        part.unlink()
        raise ServerError(f"gave another file: {wrong}", passing=False)
    published = next((kind for kind in ("sha256", "md5") if getattr(file, kind)), None)
    return {"size": sums["size"], "sha256": sums["sha256"], "published": published or "no checksum: this is the one of what came"}


def _from_server(url: str, file: RemoteFile, folder: Path) -> None:
    """Bring the part file to its whole length. Raises ServerError where this server does not give the file."""
    path, tries = folder / file.name, 0
    while True:
        before = _length(path)
        try:
            _ask_once(url, file, path)
            return
        except ServerError as error:
            tries = 1 if _length(path) > before else tries + 1
            if not error.passing or tries >= TRIES:
                raise
            log.info(printable(f"{file.name}: {error}; asking again for what is missing after {_length(path):,} bytes"))
            time.sleep(PAUSE * 2 ** (tries - 1))


def _length(path: Path) -> int:
    return _part(path).stat().st_size if _part(path).exists() else 0


def _ask_once(url: str, file: RemoteFile, path: Path) -> None:
    mark = _read_mark(path)
    if not _may_go_on(mark, url, file):
        _part(path).unlink(missing_ok=True)
        mark = {}
    have = _length(path)
    if have and have == (file.size or mark.get("total")):
        return
    with asked(url, have, mark.get("mark") if mark.get("url") == url else None) as answer:
        total = _total(answer, file)
        if answer.start not in (0, have):
            raise ServerError(f"sends bytes from {answer.start} on, {have} were asked for", passing=False)
        if answer.start != have or (mark.get("total") or total) != total:
            _part(path).unlink(missing_ok=True)
            if answer.start:
                raise ServerError("has another version of the file now", passing=True)
        if total is not None:
            files.require_space(path, total - answer.start, f"download of {file.name}")
        files.write_atomic(_mark_file(path), json.dumps({"url": url, "mark": answer.mark, "total": total}).encode())
        _copy(answer, path, total)


def _read_mark(path: Path) -> dict[str, Any]:
    try:
        return dict(files.read_json(_mark_file(path)))
    except (OSError, ValueError, TypeError):
        return {}


def _may_go_on(mark: dict[str, Any], url: str, file: RemoteFile) -> bool:
    """Return whether bytes of this server belong behind those that are there: they are of one version, or a checksum decides."""
    if file.sha256 or file.md5:
        return bool(mark)
    return mark.get("url") == url and mark.get("mark") is not None


def _total(answer: Answer, file: RemoteFile) -> int | None:
    """Return the bytes of the whole file. Raises ServerError where they are not as many as was published."""
    if file.size is not None and answer.total not in (None, file.size):
        raise ServerError(f"has a file of {answer.total:,} bytes, {file.size:,} were published", passing=False)
    return answer.total if answer.total is not None else file.size


def _copy(answer: Answer, path: Path, total: int | None) -> None:
    """Append what the server sends. Raises ServerError where it ends too early, or never."""
    done = answer.start
    with files.disk_errors(path), open(_part(path), "ab") as part, progress_bar(path.name, "B", total) as bar:
        bar.update(done)
        while True:
            with cut_connections():
                block = answer.stream.read(AT_ONCE)
            if not block:
                break
            if total is not None and done + len(block) > total:
                raise ServerError(f"sends more than the {total:,} bytes of the file", passing=False)
            part.write(block)
            part.flush()
            done += len(block)
            bar.update(len(block))
        os.fsync(part.fileno())
    if total is not None and done < total:
        raise ServerError(f"the connection was cut after {done:,} of {total:,} bytes", passing=True)
