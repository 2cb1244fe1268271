"""Objects below an address: get, put, put if nobody else has, remove, list. The only module that talks to obstore.

What may pass (no connection, a time-out, 500, a body that is cut or changed) is tried again, later each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from marius_lite.errors import RunError, UserError
from marius_lite.files import disk_error
from marius_lite.log import log
from marius_lite.remote import credentials
from marius_lite.remote.address import BucketAddress
from marius_lite.remote.failures import Damaged, is_absent, is_taken, may_pass, told, unsound

T = TypeVar("T")

TRIES, PAUSE = 6, 0.25
"""How often something is tried, and the seconds before the second time. They double each time."""
CONNECT, SILENT, REQUEST = 10.0, 30.0, 3600.0
"""Seconds to wait: for a connection; for the next bytes; for a whole request."""
MOST_CHANGED = 1 << 28
"""Bytes of the largest object that is put under a condition."""
AT_ONCE = 8 << 20
"""Bytes that are read of a body, or sent of a large one, at a time."""


REMOVED_TOGETHER = 1000


class Taken(Exception):
    """Somebody else has changed the object meanwhile."""


class ObjectStore:
    """The objects below ``address``. Names are relative to it. Raises UserError where access is refused, RunError where the
    server fails again and again."""

    def __init__(self, address: BucketAddress):
        self.address = address

    def __getstate__(self) -> dict[str, Any]:
        return {"address": self.address}

    def where(self, name: str) -> str:
        """Return how messages call an object."""
        return f"{self.address}/{name}"

    @cached_property
    def _obstore(self) -> Any:
        """The module obstore. Raises UserError where it is not installed."""
        try:
            import obstore
        except ImportError:
            raise UserError(
                f"{self.address}: object storage needs obstore, which is not installed: pip install 'marius-lite[cloud]'"
            ) from None
        return obstore

    @cached_property
    def _credentials(self) -> dict[str, str]:
        return credentials.of_files(self.address)

    @cached_property
    def _store(self) -> Any:
        from_url = self._obstore.store.from_url
        client = {
            **credentials.client_options(self.address),
            "connect_timeout": timedelta(seconds=CONNECT),
            "read_timeout": timedelta(seconds=SILENT),
            "timeout": timedelta(seconds=REQUEST),
        }
        try:
            retry = {"max_retries": 0}  # `_asked` tries again, whatever it was that failed
            return from_url(str(self.address), config=self._credentials, client_options=client, retry_config=retry)
        except Exception as error:
            raise unsound(str(self.address), error, self._secrets) from None

    @property
    def _secrets(self) -> tuple[str, ...]:
        return tuple(value for name, value in self._credentials.items() if name != "region")

    def _asked(self, name: str, ask: Callable[[Any, Any], T]) -> T:
        """Return what ``ask`` returns of the module obstore and its store. It is asked again after an error that may pass.

        Raises what obstore raises for an object that is not there, or that is there though it should not.
        """
        obstore, store = self._obstore, self._store
        for tried in range(TRIES):
            try:
                return ask(obstore, store)
            except (UserError, RunError):
                raise
            except Exception as error:
                if isinstance(error, OSError) and error.errno is not None:  # this machine's disk
                    raise disk_error(error, self.where(name)) from error
                if is_absent(error) or is_taken(error):
                    raise
                if not may_pass(error) or tried == TRIES - 1:
                    raise told(self.where(name), error, self._secrets) from None
                log.debug("%s; asking again", told(self.where(name), error, self._secrets))
            time.sleep(PAUSE * 2**tried)
        raise AssertionError

    def get(self, name: str, most: int, check: Callable[[bytes], object] | None = None) -> tuple[bytes, str] | None:
        """Return the bytes of an object and its version; None where there is none.

        ``check``: raises `Damaged` for bytes that are not the right ones; then the object is asked for again. Raises UserError
        for an object of more than ``most`` bytes.
        """

        def ask(obstore: Any, store: Any) -> tuple[bytes, str]:
            found = obstore.get(store, name)
            if found.meta["size"] > most:
                raise UserError(f"{self.where(name)}: {found.meta['size']:,} bytes, at most {most:,} belong there")
            data = b"".join(_bounded(found.stream(min_chunk_size=AT_ONCE), most))
            if len(data) != found.meta["size"]:
                raise Damaged(f"{len(data):,} of {found.meta['size']:,} bytes arrived")
            if check is not None:
                check(data)
            return data, self._version(found.meta)

        try:
            return self._asked(name, ask)
        except Exception as error:
            if is_absent(error):
                return None
            raise

    def fetch(self, name: str, blocks: Callable[[Iterator[bytes]], T], size: int) -> T:
        """Return what ``blocks`` makes of the bytes of an object, block by block. It raises `Damaged` for wrong ones, and is then
        called again. Raises UserError where there is no such object, or one of another size than ``size``."""

        def ask(obstore: Any, store: Any) -> T:
            if not size:
                return blocks(iter(()))  # some servers do not like to be asked for nothing
            found = obstore.get(store, name)
            if found.meta["size"] != size:
                raise Damaged(f"{found.meta['size']:,} bytes, {size:,} belong there")
            return blocks(_bounded(found.stream(min_chunk_size=AT_ONCE), size))

        try:
            return self._asked(name, ask)
        except Exception as error:
            if is_absent(error):
                raise told(self.where(name), error) from None
            raise

    def put(self, name: str, data: bytes | memoryview | Path) -> None:
        """Make an object of bytes or a file. It appears when it is whole. Only for names that nobody else uses."""
        self._asked(
            name,
            lambda obstore, store: obstore.put(
                store, name, data, use_multipart=None if isinstance(data, Path) else False, chunk_size=AT_ONCE, max_concurrency=4
            ),
        )

    def put_if(self, name: str, data: bytes, version: str | None, check: Callable[[bytes], object] | None = None) -> str:
        """Put an object in place of the one with this ``version``; None: where there is none. Returns its version.

        Raises Taken where somebody else was faster. An answer that is lost on the way does not count as that. ``check``: as for
        `get`.
        """
        first = self.get(name, MOST_CHANGED, check)  # some servers do not know conditions: at least look
        if first and first[0] == data:
            return first[1]
        if (first[1] if first else None) != version:
            raise Taken
        try:
            done = self._asked(
                name, lambda obstore, store: obstore.put(store, name, data, mode=self._condition(version), use_multipart=False)
            )
            return self._version(done)
        except Exception as error:
            if not is_taken(error):
                raise
        there = self.get(name, MOST_CHANGED, check)
        if there is None or there[0] != data:
            raise Taken
        return there[1]

    def _version(self, meta: Any) -> str:
        """Return what tells an object from the one that is put in its place: Google's generation, an ETag elsewhere."""
        return meta[self._tells] or ""

    @property
    def _tells(self) -> str:
        return "version" if self.address.scheme == "gs" else "e_tag"

    def _condition(self, version: str | None) -> Any:
        if version is None:
            return "create"
        return {self._tells: version} if version else "overwrite"

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects. Those that are not there are passed over."""
        for first in range(0, len(names), REMOVED_TOGETHER):
            some = list(names[first : first + REMOVED_TOGETHER])
            try:
                self._asked(some[0], partial(_delete, some))
            except Exception as error:
                if not is_absent(error):
                    raise
                if len(some) > 1:
                    for name in some:
                        self.remove([name])

    def listed(self, folder: str) -> list[str]:
        """Return the names of the objects below ``folder``. Others may have put anything there."""
        return self._asked(
            folder, lambda obstore, store: [entry["path"] for found in obstore.list(store, f"{folder}/") for entry in found]
        )


def _delete(names: list[str], obstore: Any, store: Any) -> None:
    obstore.delete(store, names)


def _bounded(stream: Iterator[Any], most: int) -> Iterator[bytes]:
    """Yield what comes, as long as it is no more than ``most`` bytes. Raises Damaged."""
    left = most
    for block in stream:
        left -= len(block)
        if left < 0:
            raise Damaged("more bytes arrived than belong there")
        yield bytes(block)
