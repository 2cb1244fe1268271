"""Puts inputs that are no files on disk, beside the output: files are looked at before they are read, and some several times.

All queries of a command are answered from one snapshot of the database, before anything else begins: the transaction is short,
and what is made of the results fits together. What was read stays until the dataset is there. When the same command runs again
after an interruption, it is not read again.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from marius_lite import files
from marius_lite.errors import MariusError, MemoryWanted, UserError
from marius_lite.log import log
from marius_lite.preprocess.databases.address import Address, hide_secrets
from marius_lite.preprocess.databases.snapshot import Snapshot, address_of, batches_of, open_snapshot
from marius_lite.preprocess.disk.passes import size_and_checksum
from marius_lite.preprocess.disk.place import LOCK, check_output, recover_output, with_errno
from marius_lite.preprocess.inputs.frames import Arrays, Frame, frame_of
from marius_lite.preprocess.inputs.parquet import write_parquet
from marius_lite.preprocess.inputs.query import Query, is_query
from marius_lite.preprocess.options import Options
from marius_lite.printable import printable
from marius_lite.sizes import format_bytes

SEVERAL = ("edges", "valid", "test")
SINGLE = ("features", "node_ids", "labels", "node_types", "train_nodes", "valid_nodes", "test_nodes")
FOLDER_ENDING, RECORD = ".inputs.tmp", "inputs.json"
MOST_GROUP, GROUPS = 16 << 20, 32
"""Bytes of rows that are written at once, and how many of these fit the memory."""


@dataclass
class Inputs:
    """The inputs of a command that are no files, by the names of the files they will be."""

    output: Path
    address: Address | None
    waiting: dict[str, Query | Frame | Arrays] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    @property
    def folder(self) -> Path:
        return self.output.with_name(f".{self.output.name}{FOLDER_ENDING}")

    def name(self, role: str, value: Any) -> Any:
        """Return the file of an input: the one that is given, or the one that will be written."""
        name = role.replace("_", " ")
        if isinstance(value, (str, os.PathLike)):
            text = os.fspath(value)
            if not isinstance(text, str) or not is_query(text) or os.path.exists(text):
                return value
            if self.address is None:
                raise UserError(f"{hide_secrets(text)}: a query, for which database? give its address with --database")
            query = Query(text, self.address)
            return self._add(name, query, f": {query.shown}")
        return self._add(name, value if isinstance(value, (Frame, Arrays)) else frame_of(value, name), "")

    def _add(self, name: str, value: Query | Frame | Arrays, ending: str) -> str:
        self._counts[name] += 1
        label = f"{name}{f' {number}' if (number := self._counts[name]) > 1 else ''}{ending}"
        self.waiting[label] = value
        return str(self.folder / label)

    @contextmanager
    def on_disk(self, options: Options) -> Iterator[None]:
        """Write the files, and remove them when the block has ended, or what is in them is wrong."""
        recover_output(self.output)
        check_output(self.output, options.overwrite)
        if not self.waiting:
            files.remove_tree(self.folder)
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with files.lock(self.folder / LOCK):
            keep = False
            try:
                self._write(options)
                yield
            except MariusError as error:
                keep = not isinstance(error, UserError) or isinstance(error, MemoryWanted)
                error.args = (str(error).replace(f"{self.folder}{os.sep}", ""),)
                raise
            except OSError as error:
                keep = True
                raise files.disk_error(with_errno(error), self.output) from error
            except BaseException:
                keep = True
                raise
            finally:
                if not (keep and (self.folder / RECORD).exists()):
                    files.remove_tree(self.folder)

    def _write(self, options: Options) -> None:
        """Write what is not on disk yet. The time of change of a file is set to the checksum of its bytes: with the same bytes an
        interrupted command goes on."""
        group_bytes = max(1 << 16, min(MOST_GROUP, options.memory // GROUPS))
        there = set() if options.overwrite else self._answered()
        if self.address is not None and not there and len(list(self.folder.iterdir())) > 1:
            log.info(f"{self.address.shown}: what an interrupted run had read is incomplete or out of date: all is read anew")
        for path in self.folder.iterdir():
            if path.name not in (there | {LOCK, RECORD} if there else {LOCK}):
                files.remove_tree(path)
        for name, value in self.waiting.items():
            if not isinstance(value, Query):
                value.write(self.folder / name, group_bytes)
                self._settle(name)
        queries = {name: value for name, value in self.waiting.items() if isinstance(value, Query) and name not in there}
        if queries and self.address is not None:
            with open_snapshot(self.address, group_bytes) as snapshot:
                answers = {
                    name: [query.identity(), *self._answer(snapshot, name, query, group_bytes)] for name, query in queries.items()
                }
            files.sync(self.folder)
            files.write_atomic(self.folder / RECORD, json.dumps({"answers": answers, "time": time.time()}).encode())

    def _answer(self, snapshot: Snapshot, name: str, query: Query, group_bytes: int) -> tuple[int, int]:
        """Write the result of a query. Returns the size and the checksum of the file."""
        started = time.monotonic()
        batches = batches_of(snapshot, query.address, query.text)
        rows = write_parquet(batches, self.folder / name, group_bytes)
        size, checksum = self._settle(name)
        log.info(
            printable(
                f"{query.address.shown}: {name}: {rows:,} rows, {format_bytes(size)} on disk, "
                f"in {time.monotonic() - started:.1f} s"
            )
        )
        return size, checksum

    def _settle(self, name: str) -> tuple[int, int]:
        """Sync a file that is written. Returns its size and checksum."""
        path = self.folder / name
        files.sync(path)
        size, checksum = size_and_checksum(path)
        os.utime(path, ns=(checksum, checksum))
        return size, checksum

    def _answered(self) -> set[str]:
        """Return the files of the queries, where an interrupted command has the answers to all of them; else none."""
        queries = {name: value for name, value in self.waiting.items() if isinstance(value, Query)}
        try:
            record = files.read_json(self.folder / RECORD)
            when = datetime.fromtimestamp(record["time"]).isoformat(" ", "seconds")
            now = {name: [query.identity(), *size_and_checksum(self.folder / name)] for name, query in queries.items()}
            if record["answers"] != now:
                return set()
        except (OSError, ValueError, TypeError, KeyError):
            return set()
        for query in list(queries.values())[:1]:
            unseen = "" if query.in_file else ": what has changed there since is not seen, --overwrite asks anew"
            level = logging.WARNING if unseen else logging.INFO
            log.log(
                level,
                f"{query.address.shown}: going on with the rows that an interrupted run of this command read at {when}{unseen}",
            )
        return set(queries)


def named(given: Mapping[str, Any]) -> tuple[dict[str, Any], Inputs]:
    """Return the arguments of `preprocess` with a file's name for each input, and those that are to be put on disk before.

    Raises UserError for a query without a database, the other way round, and for what can be no input.
    """
    uri = given.get("database")
    inputs = Inputs(Path(given["output"]).absolute(), None if uri is None else address_of(uri))
    arguments = dict(given)
    for role in SEVERAL:
        if given.get(role):
            arguments[role] = [inputs.name(role, each) for each in given[role]]
    for role in SINGLE:
        if given.get(role) is not None:
            arguments[role] = inputs.name(role, given[role])
    if inputs.address is not None:
        arguments["database"] = inputs.address.shown
        if not any(isinstance(each, Query) for each in inputs.waiting.values()):
            raise UserError(
                f"--database {inputs.address.shown}: there is no query for it: give one, beginning with SELECT or WITH, in the "
                "place of a file"
            )
    return arguments, inputs


def is_put_there(path: Path) -> bool:
    """Whether a file is one that `Inputs` made. It has the time of its checksum."""
    return path.parent.name.endswith(FOLDER_ENDING)
