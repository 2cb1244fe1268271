"""Layer-wise inference against the encoder's forward pass over the whole graph."""

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neighbourhoods import Graph

from marius_lite.errors import RunError, UserError
from marius_lite.evaluate import chunked_pass, layer_pass, summed_pass
from marius_lite.evaluate.inference import infer
from marius_lite.evaluate.layer_rows import RowsOnDisk
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.encoders import ENCODERS, BasicGnnEncoder, EncoderShape, make_encoder
from marius_lite.sampling.neighbours import true_degrees

pyg = pytest.importorskip("torch_geometric.nn")

IN, WIDTHS, RELATIONS = 10, [8, 12, 6], 3
LARGE = 1 << 30
TIGHT = {"sage": 60_000, "gcn": 60_000, "rgcn": 120_000, "gat": 300_000}  # bytes for a few nodes and their neighbours


def nothing_resident(patch):
    """Rows come from disk for each chunk, whose memory is all for its own rows and work."""
    patch.setattr(layer_pass, "IN_MEMORY_SHARE", 0)
    patch.setattr(chunked_pass, "READ_BYTES", 0)
    patch.setattr(summed_pass, "BLOCKS", 0)
    patch.setattr(summed_pass, "PART_COPIES", 0)
    patch.setattr(summed_pass, "PART_BYTES", 512)
    patch.setattr(summed_pass, "LEAST_BLOCK", 300)


class Lists:
    """A graph's in-edges by partition, in memory."""

    def __init__(self, graph, partitioning, apart=False):
        self.graph, self.partitioning, self.weighs, self.apart = graph, partitioning, graph.factors is not None, apart

    def edges(self, k):
        return len(self.read(k).sources)

    def read(self, k, relations=True):
        ids = self.partitioning.range(k)
        indptr = self.graph.indptr[ids.start : ids.stop + 1]
        stretch = slice(indptr[0], indptr[-1])
        return SimpleNamespace(
            indptr=indptr - indptr[0],
            sources=self.graph.edges[0][stretch].astype(np.uint32),
            rel=self.graph.rel[stretch].astype(np.uint32),
            factors=None if self.graph.factors is None else self.graph.factors[stretch],
            coming=coming(self.graph, ids) if self.apart else None,
        )


def coming(graph, ids):
    """So many neighbours are at one end: what a third of a node's neighbours is, rounded down."""
    return np.floor(graph.degrees[list(ids)].numpy() / 3)


class Features:
    def __init__(self, x, partitioning):
        self.x, self.partitioning = x, partitioning

    def read(self, k):
        ids = self.partitioning.range(k)
        return self.x[ids.start : ids.stop]


def set_up(seed, nodes, edges, partitions, dtype=np.float32, weighs=False):
    rng = np.random.default_rng(seed)
    graph, partitioning = Graph.random(rng, nodes, edges, RELATIONS, weighs=weighs), Partitioning(nodes, partitions)
    return graph, partitioning, rng.normal(size=(nodes, IN)).astype(dtype)


def expected_vectors(encoder, graph, x, apart=False):
    """All nodes as seeds, all neighbours: the whole graph at each layer."""
    _, sampled = graph.sample(list(range(graph.nodes)), [-1] * len(WIDTHS))
    assert sampled.hop_nodes == (graph.nodes, 0, 0, 0)
    block = sampled.block(2)
    if apart:
        some = torch.from_numpy(coming(graph, range(graph.nodes)))
        block = replace(block, degrees=torch.stack([some, graph.degrees - some], 1))
    with torch.no_grad():
        rows = torch.from_numpy(x.astype(np.float32))
        for layer in range(len(WIDTHS)):
            rows = encoder.layer(layer, rows, block)
    return rows.numpy()


def all_rows(table):
    return np.concatenate([table.read_rows(k, np.arange(table.size(k))) for k in range(table.partitions)])


@pytest.mark.parametrize(
    "name", [*ENCODERS, "gcn by rows", *(f"{name} by {by}" for name in ENCODERS for by in ("degrees", "ends"))]
)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10_000),
    st.integers(1, 60),
    st.integers(0, 500),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from([np.float32, np.float16]),
    st.sampled_from(["none", "batch"]),
)
def test_equal_to_the_whole_graph(tmp_path_factory, name, seed, nodes, edges, partitions, tight, dtype, norm):
    graph, partitioning, x = set_up(seed, nodes, edges, partitions, dtype)
    torch.manual_seed(seed)
    name, _, by = name.partition(" by ")
    counted, apart = {"degree_unit": 3.0}, by == "ends"
    seen = {"degrees": counted, "ends": {**counted, "degrees_apart": True}}
    weighed = {"rows": {"gcn_norm": "row", "diagonal": 0.5}, **seen}.get(by, {})
    shape = EncoderShape(IN, WIDTHS, dropout=0.5, norm=norm, residual=True, heads=2, relations=RELATIONS, **weighed)
    encoder = make_encoder(name, shape).eval()
    expected = expected_vectors(encoder, graph, x, apart)
    encoder.train()
    lists = Lists(graph, partitioning, apart)
    degrees = true_degrees(lists, partitioning) if encoder.degrees else None
    folder = tmp_path_factory.mktemp("inference")
    with pytest.MonkeyPatch.context() as patch:
        if tight:
            nothing_resident(patch)
        memory = TIGHT[name] if tight else LARGE
        table = infer(encoder, Features(x, partitioning), lists, partitioning, memory, folder / "vectors", degrees)
    assert encoder.training
    assert table.path == folder / "vectors"
    assert table.attributes["columns"] == 6
    np.testing.assert_allclose(all_rows(table)[:, :6], expected, rtol=1e-5, atol=1e-5)
    assert not all_rows(table)[:, 6:].any()
    assert [path.name for path in folder.iterdir()] == ["vectors"]


BASIC = [
    ("GraphSAGE", {}),
    ("GraphSAGE", {"norm": "batch_norm", "act_first": True, "jk": "last"}),
    ("GCN", {}),
    ("GCN", {"jk": "cat", "norm": "layer_norm", "norm_kwargs": {"mode": "node"}}),
    ("GCN", {"normalize": False}),
    ("GIN", {"jk": "max"}),
    ("GAT", {"jk": "lstm", "act": "elu"}),
    ("GAT", {"v2": True}),
    ("EdgeCNN", {}),
    ("PNA", {"aggregators": ["mean", "max"], "scalers": ["identity", "amplification"], "deg": torch.tensor([4, 20, 5])}),
]


@pytest.mark.parametrize(("name", "options"), BASIC, ids=lambda value: str(value)[:30])
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(0, 500), st.integers(1, 5), st.booleans())
def test_torch_geometrics_models_equal_their_own_forward(tmp_path_factory, name, options, seed, nodes, edges, partitions, tight):
    graph, partitioning, x = set_up(seed, nodes, edges, partitions)
    torch.manual_seed(seed)
    encoder = BasicGnnEncoder(getattr(pyg, name)(IN, 8, 3, 6, dropout=0.5, **options), IN, 6)
    for norm in encoder.module.norms:
        if hasattr(norm, "module"):
            torch.nn.init.normal_(norm.module.running_mean)
    with torch.no_grad():
        expected = encoder.module.eval()(torch.from_numpy(x), graph.edge_index).numpy()
    encoder.train()
    lists, folder = Lists(graph, partitioning), tmp_path_factory.mktemp("inference")
    degrees = true_degrees(lists, partitioning) if encoder.degrees else None
    assert encoder.degrees == (name == "GCN" and "normalize" not in options)
    with pytest.MonkeyPatch.context() as patch:
        if tight:
            nothing_resident(patch)
        memory = 500_000 if tight else LARGE
        table = infer(encoder, Features(x, partitioning), lists, partitioning, memory, folder / "vectors", degrees)
    assert encoder.training
    np.testing.assert_allclose(all_rows(table)[:, :6], expected, rtol=1e-5, atol=1e-5 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("tight", [True, False])
def test_chunks_of_any_size(tmp_path, tight, monkeypatch):
    graph, partitioning, x = set_up(1, 500, 4000, 3)
    encoder = make_encoder("rgcn", EncoderShape(IN, WIDTHS, relations=RELATIONS)).eval()
    sizes = []
    layer = type(encoder).layer

    def counted(self, at, x, block):
        sizes.append(block.targets)
        return layer(self, at, x, block)

    expected = expected_vectors(encoder, graph, x)
    monkeypatch.setattr(type(encoder), "layer", counted)
    if tight:
        nothing_resident(monkeypatch)
    vectors = infer(
        encoder,
        Features(x, partitioning),
        Lists(graph, partitioning),
        partitioning,
        TIGHT["rgcn"] if tight else LARGE,
        tmp_path / "vectors",
    )
    np.testing.assert_allclose(all_rows(vectors)[:, :6], expected, rtol=1e-5, atol=1e-5)
    assert len(sizes) > 30 if tight else len(sizes) == 9
    assert sum(sizes) == 3 * 500


def test_true_degrees_leave_loops_out():
    graph, partitioning, _ = set_up(2, 40, 300, 3)
    assert (graph.edges[0] == graph.edges[1]).any()
    np.testing.assert_array_equal(true_degrees(Lists(graph, partitioning), partitioning), graph.degrees.numpy())


def test_refusals_leave_nothing_behind(tmp_path):
    graph, partitioning, x = set_up(3, 60, 600, 2)
    encoder, lists = make_encoder("sage", EncoderShape(IN, WIDTHS)), Lists(graph, partitioning)
    with pytest.raises(UserError, match=r"storage.memory: layer 1 of the encoder over the \d+ in-edges of partition 0 needs"):
        infer(encoder, Features(x, partitioning), lists, partitioning, 1000, tmp_path / "vectors")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "vectors").mkdir()
    with pytest.raises(UserError, match="exists already"):
        infer(encoder, Features(x, partitioning), lists, partitioning, LARGE, tmp_path / "vectors")


@pytest.mark.parametrize("held", [True, False])
def test_a_full_disk_is_said_in_one_line(tmp_path, monkeypatch, held):
    """Whether it is full at a layer's table or, where those stay in memory, at the vectors."""
    graph, partitioning, x = set_up(3, 60, 600, 2)
    if not held:
        nothing_resident(monkeypatch)
    written = []

    @contextmanager
    def full(self, k):
        written.append(self.table)
        raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr(RowsOnDisk, "writing", full)
    with pytest.raises(RunError, match="the disk is full"):
        infer(
            make_encoder("sage", EncoderShape(IN, WIDTHS)),
            Features(x, partitioning),
            Lists(graph, partitioning),
            partitioning,
            LARGE,
            tmp_path / "vectors",
        )
    assert len(written) == 1
    assert list(tmp_path.iterdir()) == []


MEASURE = """
import re, sys
from pathlib import Path
from types import SimpleNamespace
import numpy as np, torch
from marius_lite.evaluate.inference import infer
from marius_lite.graph.partitioning import Partitioning
from marius_lite.nn.encoders import EncoderShape, make_encoder

name, degree, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
torch.set_num_threads(1)
nodes, parts = 70_000, Partitioning(70_000, 8)

class Lists:
    weighs = False

    def read(self, k, relations=True):
        size = parts.size(k)
        sources = np.random.default_rng(k).integers(0, nodes, size * degree, dtype=np.uint32)
        sources.reshape(size, degree).sort(axis=1)
        return SimpleNamespace(indptr=np.arange(size + 1) * degree, sources=sources, rel=None, factors=None, coming=None)

    def edges(self, k):
        return parts.size(k) * degree

class Features:
    def read(self, k):
        return np.ones((parts.size(k), 64), np.float32)

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

encoder = make_encoder(name, EncoderShape(64, [64, 8], heads=2))
warm = SimpleNamespace(
    read=lambda k, relations=True: SimpleNamespace(
        indptr=np.array([0, 1, 2]), sources=np.array([0, 1], np.uint32), rel=None, factors=None
    ),
    edges=lambda k: 2,
    weighs=False,
)
infer(encoder, SimpleNamespace(read=lambda k: np.ones((2, 64), np.float32)), warm, Partitioning(2, 1), 1 << 30, folder / "warm")
torch.nn.functional.linear(torch.ones(2048, 64), torch.ones(64, 64))  # its library keeps rooms for such products
before = peak()
infer(encoder, Features(), Lists(), parts, 32 << 20, folder / "vectors")
print(peak() - before)
"""


@pytest.mark.parametrize(("name", "degree"), [("sage", 32), pytest.param("gat", 12, marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_edges(tmp_path, name, degree):
    """17.9 MB of rows a layer, 32 MiB allowed: what a process takes beside its libraries stays below, whatever the edges.

    With so many edges a node the sources' rows of one partition, gathered at once, would be 72 MB, and gat's messages 130 MB.
    Blocks from 128 KB on are maps of their own. By itself glibc raises that threshold at the first large block it frees, and its
    heap then keeps 10 to 35 MB of holes, more or less from one process to the next: this would measure those.
    """
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, name, str(degree), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"},
        check=True,
    )
    assert int(done.stdout) < 33 << 10  # a MiB for what the libraries keep: without it one run in ten is some KB above
