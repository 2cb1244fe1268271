"""What an encoder's batches take, on the host and on a device: the neighbourhoods of their seeds, rows, values and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from marius_lite.config.memory import LOOK_BACK, RING, batch_places, device_bytes, packet_bytes
from marius_lite.config.schema import Config

FANOUTS = (15, 10, 5)
"""Of the first hops; later ones take the last."""


@dataclass(frozen=True)
class EncoderSizes:
    """``seeds`` of a batch, at most; ``resident`` nodes; numbers that the encoder begins and ends with; ``tables`` that hold what
    it begins with, ``stride`` bytes a node together."""

    seeds: int
    resident: int
    in_width: int
    out_width: int
    stride: int
    tables: int = 1


def fanouts_of(config: Config) -> tuple[int, ...]:
    """One for each layer."""
    asked = config.sampling.fanouts
    if asked == "auto":
        return tuple(FANOUTS[min(hop, len(FANOUTS) - 1)] for hop in range(len(config.model.layers) + 1))
    return asked


def link_sizes(config: Config, resident: int, stride: int) -> EncoderSizes:
    """Of link prediction over learned rows: every place of a batch is a seed."""
    return EncoderSizes(batch_places(config), resident, config.model.dim, config.model.dim, stride)


def reached(config: Config, seeds: int, resident: int) -> tuple[list[int], int]:
    """(nodes within 0, 1, ... hops of the seeds, edges of all hops): at most all that is resident."""
    fanouts = [fanout if fanout >= 0 else FANOUTS[0] for fanout in fanouts_of(config)]
    sizes = [min(seeds * prod(1 + f for f in fanouts[:hop]), resident) for hop in range(len(fanouts) + 1)]
    return sizes, sum(nodes * fanout for nodes, fanout in zip(sizes, fanouts))


def encoder_bytes(config: Config, seeds: int, resident: int, in_width: int, out_width: int) -> int:
    """A batch's sampled nodes and edges, its rows, and each layer's values and gradients."""
    sizes, edges = reached(config, seeds, resident)
    return 3 * 4 * sizes[-1] * in_width + _values(config, sizes, in_width, out_width) + 24 * edges


def encoder_device_bytes(config: Config, sizes: EncoderSizes, held: int) -> dict[str, int]:
    """Bytes on a device by purpose, as `memory.device_bytes` tells them of rows without an encoder."""
    nodes, edges = reached(config, sizes.seeds, sizes.resident)
    values = _values(config, nodes, sizes.in_width, sizes.out_width)
    needed = {"batches": RING * (nodes[-1] * sizes.stride + _packet(nodes, edges, sizes)),
              "tensors": 4 * 4 * nodes[-1] * sizes.in_width + 32 * edges + values, "held": held}
    if config.task == "link_prediction":
        decoded = device_bytes(config, 0, 0)
        needed = {name: size + needed.get(name, 0) for name, size in decoded.items()} | {"held": held}
    return needed


def encoder_host_bytes_for_device(config: Config, sizes: EncoderSizes) -> int:
    """Host memory beside the buffers while a device trains: staged rows and ids of the batches under way, ids being prepared."""
    nodes, edges = reached(config, sizes.seeds, sizes.resident)
    ids = _packet(nodes, edges, sizes)
    if config.task == "link_prediction":
        ids += packet_bytes(config.training.batch_size, sizes.seeds)
    return RING * (nodes[-1] * sizes.stride + ids) + 4 * ids


def _values(config: Config, nodes: list[int], in_width: int, out_width: int) -> int:
    """Each layer's values and gradients."""
    widths = [in_width, *config.model.layers, out_width]
    return sum(4 * 4 * count * width for count, width in zip(reversed(nodes), widths))


def _packet(nodes: list[int], edges: int, sizes: EncoderSizes) -> int:
    """Rows of each table with what batches share; offsets, edges with relations, degrees, labels."""
    rows = sizes.tables * nodes[-1] * (8 + 8 + 3 * 4 + LOOK_BACK * 2 * 4)
    return rows + 8 * (nodes[-2] + 1) + 8 * edges + 4 * nodes[-1] + 8 * sizes.seeds
