"""Capture what is put on torch's current stream of a GPU as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


class Captures:
    """Captures graphs that have the memory of what they compute in common. So no two of them may be under way at a time, and what
    one has computed is valid until another is launched.
    """

    def __init__(self) -> None:
        self._pool: Any = None

    def __call__(self, work: Callable[[], Result], generators: Sequence[torch.Generator]) -> tuple[Result, Callable[[], None]]:
        """Put ``work`` on torch's current stream. Return its result, and what puts all of it there again, by one launch.

        Tensors of the result stay where they are, and get new numbers then. What ``generators`` give follows from the seeds that
        they have at each launch. Raises RuntimeError where something of ``work`` cannot be captured; nothing of it is done then.
        """
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        for generator in generators:
            graph.register_generator_state(generator)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # Only calls of this thread can spoil the capture: another one may sample neighbours on the GPU, or pin memory.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                result = work()
            finally:
                graph.capture_end()
        graph.replay()
        return result, graph.replay
