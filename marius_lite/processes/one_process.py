"""How the processes of a run talk to each other. Each has some of the lanes; the first one writes the run's files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from torch import Tensor

T = TypeVar("T")


class Processes(Protocol):
    """The processes of a run, in order. Every process makes the same calls, one after another."""

    is_first: bool
    rank: int
    """Which of the processes this one is, from 0 on."""
    has_begun: bool
    """Whether these processes had begun the run before they were all started again."""

    def begin(self) -> None:
        """Take note that the run has begun."""

    def lanes(self, count: int) -> range:
        """Return which of ``count`` lanes are this process's. Those of earlier processes come before them."""

    def vectors(self, mine: Sequence[Tensor], lanes: int, width: int) -> list[Tensor]:
        """Return the vectors of all ``lanes``, in order. ``mine``: those of this process's lanes, float32 of one size.

        They end with rows of ``width`` numbers. Rows of zeros need not be sent.
        """

    def beside(self, mine: Tensor) -> list[Tensor]:
        """Return the vectors of the processes before and after this one, around a ring. All have the size of ``mine``, float32.

        Of two processes each has one beside it, of one none.
        """

    def send(self, block: Tensor, rank: int) -> None:
        """Send bytes, uint8 (n,), to another process, which calls `received` for them."""

    def received(self, size: int, rank: int) -> Tensor:
        """Return the next so many bytes from another process, uint8 (size,)."""

    def claimed(self, what: str, amount: int) -> int:
        """Return how much of ``what`` all processes have claimed so far, with this ``amount``. It may be called in any thread,
        but by one at a time."""

    def gathered(self, mine: T) -> list[T]:
        """Return what each process has given, in order."""

    def first(self, call: Callable[[], T]) -> T:
        """Return what ``call`` returns in the first process, where alone it is called. Where it raises something, all end."""

    def counters(self) -> dict[str, float]:
        """Return the seconds that this process talked with others and waited for them, and the bytes that came from them: of what
        they learned, and of the files of partitions.
        """

    def close(self) -> None:
        """Part from the others. Each process calls it once all is done; after an error none must."""

    def leave(self) -> None:
        """End what this process has under way for the others. Each calls it at its end, after an error too."""


class OneProcess:
    """See `Processes`. It trains all lanes."""

    is_first, rank, has_begun = True, 0, False

    def __init__(self) -> None:
        self._claimed = Counter[str]()

    def begin(self) -> None:
        pass

    def lanes(self, count: int) -> range:
        return range(count)

    def vectors(self, mine: Sequence[Tensor], lanes: int, width: int) -> list[Tensor]:
        return list(mine)

    def beside(self, mine: Tensor) -> list[Tensor]:
        return []

    def send(self, block: Tensor, rank: int) -> None:
        raise AssertionError("there is no other process")

    def received(self, size: int, rank: int) -> Tensor:
        raise AssertionError("there is no other process")

    def claimed(self, what: str, amount: int) -> int:
        self._claimed[what] += amount
        return self._claimed[what]

    def gathered(self, mine: T) -> list[T]:
        return [mine]

    def first(self, call: Callable[[], T]) -> T:
        return call()

    def counters(self) -> dict[str, float]:
        return {"meet_s": 0.0, "meet_bytes": 0, "moved_bytes": 0}

    def close(self) -> None:
        pass

    def leave(self) -> None:
        pass
