"""Torch's optimizers for dense parameters (relations, encoders). Their state can be saved as tensors with names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch

from marius_lite.errors import RunError

DENSE_OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adagrad": torch.optim.Adagrad,
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
}


class Steps(Protocol):
    """What a batch's gradients are given to."""

    rate: float

    @property
    def repeats(self) -> bool:
        """Whether a step does the same whatever number it has, but for counting."""

    def step(self) -> None:
        """Take the gradients in ``.grad``, and clear them."""

    def repeated(self, steps: int = 1) -> None:
        """Count steps that a device has repeated; -1: take back one that was counted, but not made."""


class DenseOptimizer:
    """One of `DENSE_OPTIMIZERS` over a module's parameters. Parameters without a gradient stay as they are.

    ``weight_decay``: factors of the weights that are added to their gradients, by the beginning of parameters' names. ``clip``:
    the largest norm of all gradients together; 0: no limit. ``rate`` multiplies the learning rate. ``parameters``: by name.

    Its state is saved and loaded, with the same bits, as tensors named ``<parameter>/<field>``. Scalars are tensors without
    dimensions.
    """

    def __init__(
        self, name: str, module: torch.nn.Module, lr: float, weight_decay: Mapping[str, float] | None = None, clip: float = 0.0
    ):
        self.rate, self._lr, self._clip = 1.0, lr, clip
        self._repeated = 0
        self._kept: dict[str, torch.Tensor] = {}
        self.parameters = {
            key: parameter for key, parameter in module.named_parameters() if parameter.requires_grad and parameter.numel() > 0
        }
        groups: dict[float, list[torch.nn.Parameter]] = {}
        for key, parameter in self.parameters.items():
            decays = [value for prefix, value in (weight_decay or {}).items() if key.startswith(prefix)]
            groups.setdefault(decays[0] if decays else 0.0, []).append(parameter)
        given = [{"params": parameters, "weight_decay": decay} for decay, parameters in groups.items()]
        # On a GPU it counts steps there, so that a step is the same work whatever number it has.
        self._counts = name == "adam" and all(weight.device.type == "cuda" for weight in self.parameters.values())
        options = {"capturable": True} if self._counts else {}
        self._torch = _uncompiled(name)(given, lr=lr, **options) if given else None
        self._torch_step = inspect.unwrap(DENSE_OPTIMIZERS[name].step)  # like `_uncompiled`

    def keep(self, name: str, rows: torch.Tensor) -> None:
        """Leave some rows of a parameter as they are from now on, on the CPU."""
        self._kept[name] = rows

    def step(self) -> None:
        """Make one step with the gradients in ``.grad``, and clear them."""
        kept = [(each := self.parameters[name].detach(), rows, each[rows]) for name, rows in self._kept.items()]
        self._step()
        for weights, rows, before in kept:
            weights[rows] = before

    def _step(self) -> None:
        if self._torch is not None:
            if self._clip:
                torch.nn.utils.clip_grad_norm_(self.parameters.values(), self._clip)
            for group in self._torch.param_groups:
                group["lr"] = self._lr * self.rate
            self._count()
            with torch.no_grad():
                self._torch_step(self._torch)
            for parameter in self.parameters.values():
                parameter.grad = None

    @property
    def repeats(self) -> bool:
        """Whether a step does the same whatever number it has, but for counting."""
        return self._torch is None or self._counts or isinstance(self._torch, torch.optim.Adagrad | torch.optim.SGD)

    def repeated(self, steps: int = 1) -> None:
        """Count steps that a device has repeated; -1: take back one that was counted, but not made."""
        self._repeated += 0 if self._counts else steps

    def _count(self) -> None:
        """Add the repeated steps to the state."""
        for parameter in self.parameters.values():
            if self._repeated and "step" in (state := self._state(parameter)):
                state["step"] += self._repeated
        self._repeated = 0

    def state_tensors(self) -> dict[str, torch.Tensor]:
        """Return a copy of the state on the CPU. Empty where there is none."""
        self._count()
        return {
            f"{key}/{field}": torch.as_tensor(value).detach().cpu().clone()
            for key, parameter in self.parameters.items()
            for field, value in self._state(parameter).items()
            if value is not None
        }

    def load_state_tensors(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Load what `state_tensors` gave. Raises RunError for a name or a shape that is not of a parameter of this module."""
        for name, value in tensors.items():
            key, _, field = name.rpartition("/")
            if key not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise RunError(
                    f"optimizer state holds {name!r}, which is no parameter of the model (it has: "
                    f"{known}): resume with the model that wrote the checkpoint"
                )
            parameter = self.parameters[key]
            if value.ndim > 0 and value.shape != parameter.shape:
                raise RunError(
                    f"optimizer state {name!r} has shape {tuple(value.shape)}, its parameter "
                    f"{tuple(parameter.shape)}: resume with the model that wrote the checkpoint"
                )
            device = torch.device("cpu") if value.ndim == 0 and not self._counts else parameter.device
            self._state(parameter)[field] = value.detach().clone().to(device)

    def _state(self, parameter: torch.Tensor) -> dict[str, Any]:
        assert self._torch is not None
        state: dict[str, Any] = self._torch.state[parameter]
        return state


def _uncompiled(name: str) -> Callable[..., torch.optim.Optimizer]:
    """The optimizer without what torch.compile needs of it: that imports 800 modules, a second of each start."""
    optimizer = DENSE_OPTIMIZERS[name]
    return type(optimizer.__name__, (optimizer,), {"add_param_group": inspect.unwrap(optimizer.add_param_group)})
