"""Every call of the CUDA library on a real device. Its bits are the CPU's, but for exponentials. The host's build takes the same
tests."""

from pathlib import Path

import numpy as np
import pytest
import torch
from host_library import neighbour_job
from softmax_definition import assert_softmax_loss, random_scores

from marius_lite import _native

LIBRARY = Path(_native.__file__).parent / "libmarius_cuda.so"
RATES = {"sgd": {}, "row_adagrad": {"eps": 1e-10}, "adagrad": {"eps": 1e-10}, "adam": {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8}}
STATE = {"sgd": lambda dim: 0, "row_adagrad": lambda dim: 1, "adagrad": lambda dim: dim, "adam": lambda dim: 2 * dim + 1}


class Machine:
    """A library and the device that it drives."""

    def __init__(self, library, device: str):
        self.library, self.device = library, torch.device(device)
        self.facts = library.device_facts(0)

    @property
    def here(self) -> dict[str, int]:
        return {"device": 0, "stream": torch.cuda.current_stream().cuda_stream if self.device.type == "cuda" else 0}

    def put(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array.copy()).to(self.device)

    def get(self, tensor: torch.Tensor) -> np.ndarray:
        self.wait()
        return tensor.cpu().numpy()

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


@pytest.fixture(params=["host", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request) -> Machine:
    if request.param == "host":
        return Machine(request.getfixturevalue("host_library"), "cpu")
    if not LIBRARY.exists():
        pytest.skip("built without CUDA")
    library = _native.CudaLibrary(str(LIBRARY))
    if library.device_count() == 0 or not torch.cuda.is_available():
        pytest.skip("no GPU")
    return Machine(library, "cuda:0")


def page_aligned(array: np.ndarray) -> np.ndarray:
    memory = np.empty(array.nbytes + 4096, np.uint8)
    start = -memory.__array_interface__["data"][0] % 4096
    aligned = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    aligned[:] = array
    return aligned


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("width", [1, 3, 25, 100, 128, 132, 304, 1001])
@pytest.mark.parametrize("sms", [0, 2])
def test_rows_come_from_pinned_memory_and_go_back(machine, width, sms):
    rng = np.random.default_rng(width)
    nodes, count = 5000, 1777
    table = page_aligned(rng.standard_normal((nodes, width), np.float32))
    rows = np.sort(rng.permutation(nodes)[:count])
    before, stride, index = table.copy(), 4 * width, machine.put(rows)
    pinned = machine.library.pin(table.view(np.uint8), boundary=4096, device=0)
    flags = machine.put(np.zeros(1024, np.int32))
    block = machine.put(np.zeros((count, width), np.float32))
    both = {
        **machine.here,
        "count": count,
        "source_stride": stride,
        "target_stride": stride,
        "columns": width,
        "max_sms": sms,
        "sm_flags": flags.data_ptr(),
    }
    machine.library.copy_rows(source=pinned.address, target=block.data_ptr(), source_rows=index.data_ptr(), **both)
    assert same_bits(machine.get(block), before[rows])
    assert 1 <= machine.get(flags).sum() <= (sms or machine.facts["multiprocessors"])
    block += 1
    machine.library.copy_rows(source=block.data_ptr(), target=pinned.address, target_rows=index.data_ptr(), **both)
    machine.wait()
    before[rows] += 1
    assert same_bits(table, before)
    pinned.close()


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_half_converts_as_on_the_host(machine, host_library, name):
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.int16).reshape(-1, 256)
    rng = np.random.default_rng(0)
    floats = (rng.standard_normal((4096, 256)) * 10.0 ** rng.integers(-45, 38, (4096, 256))).astype(np.float32)
    for values, to, source_type, target_type in [(halves, np.float32, name, "float32"), (floats, np.int16, "float32", name)]:
        outs = []
        for library, place, here in [
            (machine.library, machine.put, machine.here),
            (host_library, torch.from_numpy, {"device": 0, "stream": 0}),
        ]:
            source, target = place(values), place(np.zeros(values.shape, to))
            library.copy_rows(
                **here,
                source=source.data_ptr(),
                target=target.data_ptr(),
                count=len(values),
                columns=256,
                source_stride=256 * values.itemsize,
                target_stride=256 * target.element_size(),
                source_type=source_type,
                target_type=target_type,
            )
            outs.append(machine.get(target))
        numbers = ~np.isnan(outs[1]) if to == np.float32 else slice(None)
        assert same_bits(outs[0][numbers], outs[1][numbers])
        assert to != np.float32 or (np.isnan(outs[0]) == np.isnan(outs[1])).all()


@pytest.mark.parametrize("dim", [1, 7, 100, 128, 130])
def test_segment_sum_has_the_cpus_bits(machine, dim):
    rng = np.random.default_rng(dim)
    parts = [rng.standard_normal((n, dim), np.float32) for n in (1000, 0, 3000, 17)]
    unique, order, starts = _native.sort_rows(np.minimum(rng.integers(0, 900, 4017), rng.integers(0, 900, 4017) ** 2))
    wanted = np.empty((len(unique), dim), np.float32)
    _native.segment_sum(parts, order, starts, wanted)
    device_parts, out = [machine.put(p) for p in parts], machine.put(np.full_like(wanted, np.nan))
    order, starts = machine.put(order), machine.put(starts)
    machine.library.segment_sum(
        **machine.here,
        parts=[(p.data_ptr(), len(p)) for p in device_parts],
        order=order.data_ptr(),
        starts=starts.data_ptr(),
        segments=len(unique),
        out=out.data_ptr(),
        dim=dim,
    )
    assert same_bits(machine.get(out), wanted)


@pytest.mark.parametrize("kind", RATES)
@pytest.mark.parametrize("dim", [1, 7, 100, 128])
def test_row_step_has_the_cpus_bits(machine, kind, dim):
    rng = np.random.default_rng(dim)
    count, width = 3000, dim + STATE[kind](dim)
    width += -width % 4
    wanted = np.abs(rng.standard_normal((count, width), np.float32))
    if kind == "adam":
        wanted[:, 3 * dim] = rng.integers(0, 1 << rng.integers(1, 24), count)
    block, rows = machine.put(wanted), np.arange(count)
    for _ in range(3):
        grads = (rng.standard_normal((count, dim)) * 10.0 ** rng.integers(-20, 15, (count, 1))).astype(np.float32)
        _native.row_step(kind, wanted, rows, grads, lr=0.1, **RATES[kind])
        device_grads = machine.put(grads)
        machine.library.row_step(
            **machine.here,
            kind=kind,
            block=block.data_ptr(),
            count=count,
            stride=4 * width,
            dim=dim,
            grads=device_grads.data_ptr(),
            lr=0.1,
            **RATES[kind],
        )
        machine.wait()
    assert same_bits(machine.get(block), wanted)


def test_the_cpu_gathers_and_scatters_in_the_streams_order(machine):
    rng = np.random.default_rng(1)
    table = page_aligned(rng.standard_normal((4000, 64), np.float32))
    before, staged, rows = table.copy(), page_aligned(np.zeros((1000, 64), np.float32)), rng.permutation(4000)[:1000]
    pinned = machine.library.pin(staged.view(np.uint8), boundary=4096, device=0)
    block = machine.put(np.zeros((1000, 64), np.float32))
    host = {
        **machine.here,
        "table": table.ctypes.data,
        "table_stride": 256,
        "rows": rows.ctypes.data,
        "count": 1000,
        "block": staged.ctypes.data,
        "block_stride": 256,
        "bytes": 256,
        "threads": 2,
    }
    machine.library.host_gather(**host)
    machine.library.copy(**machine.here, target=block.data_ptr(), source=pinned.address, bytes=staged.nbytes)
    block += 1
    machine.library.copy(**machine.here, target=pinned.address, source=block.data_ptr(), bytes=staged.nbytes)
    machine.library.host_scatter(**host)
    machine.wait()
    before[rows] += 1
    assert same_bits(table, before)
    pinned.close()


@pytest.mark.parametrize("fanout", [-1, 3, 40])
def test_a_hop_has_the_cpus_neighbours(machine, fanout):
    """Stage by stage, over pinned lists of one partition of two; some edges are excluded."""
    rng = np.random.default_rng(fanout + 2)
    rows, seeds = 3000, rng.permutation(3000)[:500]
    sources = np.sort(rng.integers(0, 2 * rows, (rows, 60)).astype(np.uint32), 1)
    lists = {
        "indptr": page_aligned(np.arange(0, 60 * rows + 1, 60)),
        "sources": page_aligned(sources.reshape(-1)),
        "rel": page_aligned(rng.integers(0, 5, 60 * rows).astype(np.uint32)),
    }
    exclude = np.stack([sources[seeds[:100], 7], seeds[:100]], 1).astype(np.int64)
    cpu = _native.NeighbourSampler(rows, 2 * rows)
    cpu.enter(0, 900, *lists.values())
    expected = cpu.sample(seeds, [fanout], 5, 1, exclude)

    pinned = [machine.library.pin(array.view(np.uint8), array.nbytes, 0) for array in lists.values()]
    table = np.array([[*(each.address for each in pinned), 900], [0, 0, 0, 0]])
    dst, src = exclude[np.lexsort(exclude.T)].T[::-1]
    job = {
        "lists": machine.put(table),
        "resident": machine.put(np.array([0, rows])),
        "resident_count": 1,
        "rows_per_partition": rows,
        "excluded_dst": machine.put(dst),
        "excluded_src": machine.put(src),
        "excluded_count": len(dst),
        "removed": machine.put(np.zeros(2 * len(dst), np.int64)),
        "seed": 5,
        "fanout": fanout,
        "keys": machine.put(np.full(1 << 13, -1)),
        "mask": (1 << 13) - 1,
        "values": machine.put(np.full(1 << 13, 2**31 - 1, np.int32)),
    }

    def stage(name, count, **more):
        job.update(more)
        machine.library.neighbours(machine.here["device"], machine.here["stream"], name, neighbour_job(**job, count=count))

    def insert(ids, known):
        count = len(ids)
        stage("insert", count, ids=ids, known=known, slots=machine.put(np.zeros(count, np.int32)))
        stage("mark_new", count, is_new=machine.put(np.zeros(count, np.int32)))
        rank = machine.get(job["is_new"]).cumsum(dtype=np.int32)
        job["labels"] = machine.put(np.zeros(count, np.int32))
        job["new_nodes"], job["new_rows"] = (machine.put(np.zeros(rank[-1], np.int64)) for _ in range(2))
        stage("label", count, rank=machine.put(rank))
        stage("keep_labels", count)
        return machine.get(job["labels"]), machine.get(job["new_nodes"]), machine.get(job["new_rows"])

    stage("find_excluded", len(dst))
    _, nodes, first_rows = insert(machine.put(seeds), 0)
    count = len(seeds)
    for name, size in (("counts", 1), ("first", 1), ("candidates", 1), ("in_edges", 2), ("removals", 2), ("shifts", 2)):
        job[name] = machine.put(np.zeros(size * count, np.int64))
    stage("expand", count, nodes=machine.put(nodes), node_count=count)
    starts = np.concatenate([[0], machine.get(job["counts"]).cumsum()])
    edges = int(starts[-1])
    stage(
        "draw",
        count,
        starts=machine.put(starts),
        drawn=machine.put(np.zeros(edges, np.int64)),
        drawn_set=machine.put(np.full(2 * edges, -1)),
    )
    stage("fetch", edges, ids=machine.put(np.zeros(edges, np.int64)), rel=machine.put(np.zeros(edges, np.int32)))
    rel, ids = machine.get(job["rel"]).view(np.uint32), job["ids"]
    indices, more_nodes, more_rows = insert(ids, count)
    found = {
        "nodes": np.concatenate([nodes, more_nodes]),
        "rows": np.concatenate([first_rows, more_rows]),
        "indptr": starts,
        "indices": indices,
        "rel": rel,
    }
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], name)
    assert machine.get(job["in_edges"]).reshape(-1, 2).sum(0).tolist() == [expected["neighbours"], expected["missing"]]
    for each in pinned:
        each.close()


@pytest.mark.parametrize("columns", [0, 1, 7, 31, 32, 33, 999, 1000, 1001, 1024, 1025, 5000])
def test_softmax_loss_is_its_definition(machine, columns):
    scores, found = random_scores(1001, columns), []
    for _ in range(2):
        positive, negatives, losses = (machine.put(part) for part in (scores[:, 0], scores[:, 1:], np.zeros(1001, np.float32)))
        machine.library.softmax_loss(
            **machine.here,
            positive=positive.data_ptr(),
            negatives=negatives.data_ptr(),
            losses=losses.data_ptr(),
            rows=1001,
            columns=columns,
        )
        found.append((np.concatenate([machine.get(positive)[:, None], machine.get(negatives)], 1), machine.get(losses)))
    assert_softmax_loss(scores, *found[0], slack=4e-6)
    assert all(same_bits(first, second) for first, second in zip(*found, strict=True))


def test_errors_name_the_call_and_leave_no_trace(machine):
    source, target = machine.put(np.arange(64, dtype=np.float32)), machine.put(np.zeros(64, np.float32))
    common = {"source": source.data_ptr(), "target": target.data_ptr(), "bytes": 256}
    with pytest.raises(RuntimeError, match=r"256 bytes on device 999: invalid device ordinal \(101\)"):
        machine.library.copy(device=999, stream=0, **common)
    with pytest.raises(RuntimeError, match=r"cudaHostRegister of 4096 bytes at .* device 999: "):
        machine.library.pin(np.zeros(4096, np.uint8), 4096, 999)
    machine.library.copy(**machine.here, **common)
    np.testing.assert_array_equal(machine.get(target), np.arange(64))
