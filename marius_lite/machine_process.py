"""Which of the processes of a run this one is, as `torchrun` or `marius-lite train --processes` says in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from marius_lite.errors import UserError

RANK, COUNT, ADDRESS, PORT = "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"
HAS_STORE, RESTARTS = "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT"


@dataclass(frozen=True)
class MachineProcess:
    """Process ``rank`` of ``count``, which meet at an address and a port.

    ``has_store``: whether a store for what they say to each other is there already. ``restarts``: how often they were all started
    again.
    """

    rank: int
    count: int
    address: str
    port: int
    has_store: bool = False
    restarts: int = 0

    @staticmethod
    def lanes_of(lanes: int, rank: int, count: int) -> range:
        """Return which of the ``lanes`` process ``rank`` of ``count`` trains."""
        return range(rank * lanes // count, (rank + 1) * lanes // count)


def this_process(environment: Mapping[str, str] = os.environ) -> MachineProcess | None:
    """Return which process this one is; None where it is alone. Raises UserError for an environment that contradicts itself."""
    if environment.get(COUNT, "1") == "1":
        return None
    try:
        count, rank, port = (int(environment[name]) for name in (COUNT, RANK, PORT))
        address, restarts = environment[ADDRESS], int(environment.get(RESTARTS, "0"))
        if not (0 <= rank < count and 0 < port < 1 << 16):
            raise ValueError
    except (KeyError, ValueError):
        raise UserError(
            f"{COUNT} is {environment[COUNT]!r} in the environment, so {RANK} (from 0 on), {ADDRESS} and {PORT} must say which "
            f"process this is and where they meet, as torchrun does: unset {COUNT} to train in one process"
        ) from None
    return MachineProcess(rank, count, address, port, environment.get(HAS_STORE) == "True", restarts)


def speaks(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether this process tells what the run does: it is alone, or the first."""
    return environment.get(COUNT, "1") == "1" or environment.get(RANK, "0") == "0"
