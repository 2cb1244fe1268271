"""Capture what is put on torch's current stream of a GPU as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

import torch

Result = TypeVar("Result")


class Captures:
    """Captures graphs that have the memory of what they compute in common. So no two of them may be under way at a time, and what
    one has computed is valid until another is launched.
    """

    def __init__(self) -> None:
        self._pool: Any = None
        self._alive: WeakSet[torch.cuda.CUDAGraph] = WeakSet()  # torch gives the pool up with the last of them
        self._stream: torch.cuda.Stream | None = None  # one for all: torch gives a block again to the same stream alone

    def __call__(self, work: Callable[[], Result], generators: Sequence[torch.Generator]) -> tuple[Result, Callable[[], None]]:
        """Put ``work`` on torch's current stream. Return its result, and what puts all of it there again, by one launch.

        Tensors of the result stay where they are, and get new numbers then. What ``generators`` give follows from the seeds that
        they have at each launch. Raises RuntimeError where something of ``work`` cannot be captured; the device does nothing of
        it then.
        """
        graph = torch.cuda.CUDAGraph()
        if not self._alive:
            self._pool = torch.cuda.graph_pool_handle()
        self._alive.add(graph)
        self._stream = self._stream or torch.cuda.Stream()  # type: ignore[no-untyped-call]
        for generator in generators:
            graph.register_generator_state(generator)
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        try:
            result = self._captured(graph, work)
        except RuntimeError:
            for generator in generators:  # it may still believe that it is captured
                generator.graphsafe_set_state(generator.clone_state())
            raise
        current.wait_stream(self._stream)  # where seeds were put for the graph
        graph.replay()
        return result, graph.replay

    def _captured(self, graph: torch.cuda.CUDAGraph, work: Callable[[], Result]) -> Result:
        with torch.cuda.stream(self._stream):
            # Only calls of this thread can spoil the capture: another one may sample neighbours on the GPU, or pin memory.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                result = work()
            except BaseException:
                with suppress(RuntimeError):  # what went wrong first is what is told
                    graph.capture_end()
                raise
            graph.capture_end()
        return result
