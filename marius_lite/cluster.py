"""Ray, which calls functions in other processes, on this machine or on several. This module alone imports it.

A session is that of the program around, where it has one; else the cluster at an address; else processes of this machine, which
end with the session.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from marius_lite.errors import MariusError, RunError, UserError

RETRIES = 3
"""How often a task is done anew whose process died."""
ADDRESS = "RAY_ADDRESS"
"""The variable of Ray's own that has the address of a cluster."""
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


def require_ray(what: str) -> None:
    """Raise UserError where Ray, which ``what`` needs, is not installed."""
    if find_spec("ray") is None:
        raise UserError(f"{what}: needs ray, which is not installed: pip install 'marius-lite[ray]'")


@contextmanager
def ray_session(processes: int, address: str | None = None, tells: bool = False) -> Generator[Any, None, None]:
    """Return the module ray, in a session with room for so many ``processes``. Raises RunError where it does not start.

    ``tells``: whether what the processes write to standard error is shown here.
    """
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():
        yield ray
        return
    address = address or os.environ.get(ADDRESS)
    local: dict[str, Any] = {} if address else {"num_cpus": processes, "num_gpus": 0, "include_dashboard": False}
    try:
        ray.init(address=address or "local", log_to_driver=tells, configure_logging=False, **local)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = f"no cluster answers at {address}" if address else "it does not start on this machine"
        raise RunError(f"Ray: {where}: {_line(error)}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def this_node() -> tuple[str, str]:
    """Return the name that Ray gave the machine of this process, one of its own, and its address."""
    import ray

    return ray.get_runtime_context().get_node_id(), str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class _Raised:
    """What a function raised in another process."""

    error: Exception


def _guarded(function: Callable[[Any], Any], task: Any) -> Any:
    """Call a function. An error that has a meaning here is a result, so that it comes back as it is."""
    try:
        return function(task)
    except (MariusError, OSError) as error:
        return _Raised(error)


class RayWorkers:
    """Calls functions in ``count`` processes of a session."""

    def __init__(self, ray: Any, count: int):
        self._ray, self.count = ray, count
        self._call = ray.remote(num_cpus=1, max_retries=RETRIES)(_guarded)

    def results(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Return the results of a function in order. At most ``count`` tasks are under way at a time.

        A task whose process died is done anew, a few times. Raises what the function raises, RunError where processes go on
        dying.
        """
        results: dict[int, Any] = {}
        under_way: dict[Any, int] = {}
        waiting, given = deque(enumerate(tasks)), 0
        try:
            while given < len(tasks):
                while waiting and len(under_way) < self.count:
                    number, task = waiting.popleft()
                    under_way[self._call.remote(function, task)] = number
                if given in results:
                    result = results.pop(given)
                    given += 1
                    if isinstance(result, _Raised):
                        raise result.error
                    yield result
                    continue
                for reference in self._ray.wait(list(under_way), num_returns=1)[0]:
                    results[under_way.pop(reference)] = self._result(reference)
        finally:
            for reference in under_way:
                self._ray.cancel(reference, force=True)

    def _result(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError) as error:
            raise RunError(
                f"a worker died {RETRIES + 1} times at the same part of the work: was it killed for want of memory? the same "
                f"command, with less --memory or fewer --workers, goes on after the last finished pass ({_line(error)})"
            ) from error
        except errors.RayError as error:
            raise RunError(f"Ray: {_line(error)}") from error


@contextmanager
def ray_workers(count: int) -> Generator[RayWorkers, None, None]:
    """Return so many workers, which end with the block."""
    with ray_session(count) as ray:
        yield RayWorkers(ray, count)


def _line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]
