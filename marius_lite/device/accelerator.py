"""A device with its streams, its native library, and host memory that it can copy from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

from marius_lite._native import CudaLibrary
from marius_lite.device.graphs import Captures
from marius_lite.device.library import library
from marius_lite.device.streams import CurrentStream, OwnStream, Stream, TorchStream
from marius_lite.errors import RunError, UserError

Result = TypeVar("Result")
Capture = Callable[[Callable[[], Result], Sequence[torch.Generator]], tuple[Result, Callable[[], None]]]


@dataclass(frozen=True)
class Accelerator:
    """A device and its four streams.

    ``gathering`` copies rows to the device. ``computing`` is torch's own stream. ``scattering`` copies rows back. ``sampling``
    draws neighbours, and shares no memory with the others. ``capture``: see `device.graphs.Captures`. ``pinned``: whether host
    memory for the device is pinned. ``recurring``: whether its batches get sizes that recur, where that changes no more than
    how results are rounded.
    """

    device: torch.device
    library: CudaLibrary
    gathering: Stream
    computing: Stream
    scattering: Stream
    sampling: Stream
    capture: Capture[Any] = field(default_factory=Captures)
    pinned: bool = True
    recurring: bool = True

    @property
    def index(self) -> int:
        return self.device.index or 0

    def host_bytes(self, size: int) -> torch.Tensor:
        """``size`` bytes of host memory that the device copies from and to without the host waiting."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=self.pinned)

    def order_new_memory(self) -> None:
        """Let work on the streams that copy rows, put there from now on, wait for torch's stream as far as it is filled.

        Call it where torch has given out device memory: work on its stream may have used, or may still fill, that memory.
        """
        filled = self.computing.record()
        self.gathering.after(filled)
        self.scattering.after(filled)

    @contextmanager
    def taking_memory(self, what: str, advice: str) -> Iterator[None]:
        """Raise RunError where the device has too little memory for ``what``. ``advice``: what its user can do."""
        try:
            yield
        except torch.cuda.OutOfMemoryError as error:
            reason = str(error).splitlines()[0]
            raise RunError(
                f"{self.device}: {what} needs more memory than storage.device_memory leaves: {advice} ({reason})"
            ) from error


def check_device(name: str) -> torch.device:
    """The device of a name: ``cpu``, ``cuda`` or ``cuda:N``. Raises UserError for a GPU that is missing or cannot be used."""
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise UserError(
                f"`device` is {name}, but torch {torch.__version__} finds no CUDA device: "
                "use `device: cpu`, or install a CUDA build of torch and its driver"
            )
        if (device.index or 0) >= torch.cuda.device_count():
            raise UserError(f"`device` is {name}, but there are {torch.cuda.device_count()} CUDA devices")
        library()
    return device


def open_accelerator(device: torch.device) -> Accelerator | None:
    """A GPU with its streams; None for the CPU.

    Streams that copy rows or sample neighbours have a higher priority than the one that computes.
    """
    if device.type == "cpu":
        return None
    device = torch.device("cuda", device.index or 0)
    torch.cuda.set_device(device)
    urgent = [torch.cuda.Stream(device, priority=-1) for _ in range(3)]  # type: ignore[no-untyped-call]
    gathering, scattering, sampling = TorchStream(urgent[0]), TorchStream(urgent[1]), OwnStream(urgent[2])
    return Accelerator(device, library(), gathering, CurrentStream(device), scattering, sampling)
