"""Write and read the dense tensors of a checkpoint, weights and optimizer state, in one file with a checksum."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from marius_lite._native import crc32c
from marius_lite.errors import UserError
from marius_lite.files import MOST_REASON, read

NAME = "dense.safetensors"
HEAD = "model.encoder.head."


def write_dense(folder: Path, tensors: dict[str, torch.Tensor]) -> int:
    """Write ``tensors`` to the checkpoint ``folder``, and return the file's crc32c. The file is not synced. Raises OSError."""
    data = save({name: tensor.contiguous() for name, tensor in tensors.items()})
    (folder / NAME).write_bytes(data)
    return int(crc32c(np.frombuffer(data, np.uint8)))


def read_dense(checkpoint: Path, expected: int) -> dict[str, torch.Tensor]:
    """Read the tensors of a checkpoint, on the CPU. Raises UserError for a file that is missing or damaged."""
    file = checkpoint / NAME
    try:
        data = read(file)
        if crc32c(np.frombuffer(data, np.uint8)) != expected:
            raise UserError(f"{file}: damaged, its checksum is wrong: choose another checkpoint with --checkpoint")
        return load(data)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{file}: cannot be read: {error}: choose another checkpoint with --checkpoint") from None


def load_weights(model: torch.nn.Module, tensors: dict[str, torch.Tensor], checkpoint: Path) -> None:
    """Load the weights among a checkpoint's dense tensors into ``model``. Raises UserError where they are of another model."""
    try:
        model.load_state_dict(tensors_of(tensors, "model."))
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:MOST_REASON]
        raise UserError(
            f"{checkpoint}: its weights are not those of the model in config.yaml ({reason}): undo what was changed there"
        ) from error


def without_head(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the tensors without the weights of a head, which a layer has that is trained alone (`nn.encoders.one_layer`)."""
    return {name: tensor for name, tensor in tensors.items() if not name.startswith(HEAD)}


def optimizer_state(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the optimizer's state among a checkpoint's dense tensors."""
    return tensors_of(tensors, "optimizer.")


def tensors_of(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """Return the tensors whose names begin with ``prefix``, by the rest of their names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
