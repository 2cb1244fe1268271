"""Layers that sum: the same bits from any memory, in few long reads."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_inference import Features, Lists, all_rows, nothing_resident, set_up

from marius_lite.evaluate import summed_pass
from marius_lite.evaluate.inference import infer
from marius_lite.evaluate.layer_rows import RowsOnDisk
from marius_lite.nn.encoders import EncoderShape, make_encoder
from marius_lite.sampling.neighbours import true_degrees

pytest.importorskip("torch_geometric")

IN, LARGE = 10, 1 << 30


def vectors(name, widths, given, memory, folder, residual=False):
    graph, partitioning, x = given
    torch.manual_seed(1)
    encoder = make_encoder(name, EncoderShape(IN, widths, residual=residual, norm="layer"))
    lists = Lists(graph, partitioning)
    degrees = true_degrees(lists, partitioning) if name == "gcn" else None
    return all_rows(infer(encoder, Features(x, partitioning), lists, partitioning, memory, folder / "vectors", degrees))


@pytest.mark.parametrize("name", ["sage", "gcn"])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1000),
    nodes=st.integers(1, 200),
    edges=st.integers(0, 2000),
    partitions=st.integers(1, 4),
    memory=st.integers(24_000, 60_000),  # lists of one partition take up to 18 kB, a part 2
    widths=st.sampled_from([[8, 12, 6], [20, 3], [4]]),
    residual=st.booleans(),
    weighs=st.booleans(),
)
def test_the_bits_do_not_depend_on_the_memory(
    tmp_path_factory, name, seed, nodes, edges, partitions, memory, widths, residual, weighs
):
    given, folder = set_up(seed, nodes, edges, min(partitions, nodes), weighs=weighs), tmp_path_factory.mktemp("summed")
    (folder / "few").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summed_pass, "PART_BYTES", 512)  # how many rows are mapped together shows in the last bits
        expected = vectors(name, widths, given, LARGE, folder, residual)
        nothing_resident(patch)
        found = vectors(name, widths, given, memory, folder / "few", residual)
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


def test_rows_are_read_once_for_each_group_in_long_reads(tmp_path, monkeypatch):
    given = set_up(3, 6000, 60_000, 4)
    nothing_resident(monkeypatch)
    monkeypatch.setattr(summed_pass, "LEAST_BLOCK", 4096)
    sizes, passes = [], []
    blocks, add = RowsOnDisk.blocks, summed_pass.SummedPass._add

    def counted(self, most):
        for first, rows in blocks(self, most):
            sizes.append(rows.nbytes)
            yield first, rows

    def added(self, group):
        passes.append([(nodes.targets.start // 1500, len(nodes.sums)) for nodes in group])
        add(self, group)

    monkeypatch.setattr(RowsOnDisk, "blocks", counted)
    monkeypatch.setattr(summed_pass.SummedPass, "_add", added)
    vectors("sage", [16], given, 400_000, tmp_path)
    assert [sum(size for _, size in group) for group in passes] == [3000, 3000]  # two partitions fit at a time
    assert sum(sizes) == 2 * 6000 * 4 * 12  # ten numbers a row, padded to 16 bytes
    assert sorted(sizes)[len(sizes) // 2] >= 4096 - 48
    sizes.clear()
    passes.clear()
    (tmp_path / "less").mkdir()
    vectors("sage", [16], given, 120_000, tmp_path / "less")
    assert {group[0][0] for group in passes} == {0, 1, 2, 3}
    assert len(passes) > 4
    assert all(len(group) == 1 for group in passes)
    assert sum(size for group in passes for _, size in group) == 6000
