"""Capture what is put on torch's current stream of a GPU as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

Result = TypeVar("Result")


def capture(work: Callable[[], Result], generators: Sequence[torch.Generator]) -> tuple[Result, Callable[[], None]]:
    """Put ``work`` on torch's current stream. Return its result, and what puts all of it there again, by one launch.

    Tensors of the result stay where they are, and get new numbers then. What ``generators`` give follows from the seeds that they
    have at each launch. Memory that ``work`` takes belongs to the graph, as long as what launches it lives. Raises RuntimeError
    where something of ``work`` cannot be captured; nothing of it is done then.
    """
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()  # type: ignore[no-untyped-call]
    for generator in generators:
        graph.register_generator_state(generator)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # Only calls of this thread can spoil the capture: another one may sample neighbours on the GPU, or pin memory.
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            result = work()
        finally:
            graph.capture_end()
    graph.replay()
    return result, graph.replay
