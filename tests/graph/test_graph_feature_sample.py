"""A sample of features says what all of them say, where they are alike; stored types are read as numbers."""

import numpy as np
import pytest

from marius_lite.graph import feature_sample
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.feature_sample import MOST_CODES, flags, sampled


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("bytes_read", [64, 4 << 20])
def test_signs_zeros_and_sizes(cli, tmp_path, monkeypatch, dtype, bytes_read):
    monkeypatch.setattr(feature_sample, "SAMPLED", bytes_read)
    rng = np.random.default_rng(2)
    words = np.where(rng.random((500, 20)) < 0.3, 3.0, 0.0).astype(np.float32)
    np.save(tmp_path / "edges.npy", rng.integers(500, size=(900, 2)))
    for name, x in (("words", words), ("signed", words - 1)):
        np.save(tmp_path / "x.npy", x)
        options = ["--output", tmp_path / name, "--partitions", "3", "--feature-dtype", dtype]
        assert cli("preprocess", tmp_path / "edges.npy", "--features", tmp_path / "x.npy", *options) == 0
        found = sampled(Dataset.open(tmp_path / name).features)
        assert found.counts == (name == "words")
        assert found.negative == (name == "signed")
        exact = (float((x == 0).mean()), float(np.sqrt(np.square(x.astype(np.float64)).mean())))
        assert (found.zeros, found.size) == pytest.approx(exact, abs=0.3 if bytes_read == 64 else 0.01)
        assert not found.uneven
        if bytes_read > 64:
            np.testing.assert_allclose(found.means, x.mean(0), atol=0.01)
            np.testing.assert_allclose(found.deviations, x.std(0), atol=0.01)


def test_columns_of_one_number_are_divided_by_1_and_small_columns_beside_large_ones_are_uneven(cli, tmp_path):
    rng = np.random.default_rng(3)
    np.save(tmp_path / "edges.npy", rng.integers(80, size=(300, 2)))
    x = rng.normal(size=(80, 8)) * [1, 1, 1, 0.01, 0.01, 0.01, 0.01, 0] + [0, 0, 0, 0, 0, 0, 0, 0.1]
    np.save(tmp_path / "x.npy", x.astype(np.float32))
    options = ["--output", tmp_path / "data", "--features", tmp_path / "x.npy"]
    assert cli("preprocess", tmp_path / "edges.npy", *options) == 0
    found = sampled(Dataset.open(tmp_path / "data").features)
    assert found.uneven
    assert not found.large
    assert found.deviations[-1] == 1


@pytest.mark.parametrize(("largest", "counts"), [(1, True), (50, True), (1000, False)])
def test_codes_beside_a_column_of_amounts_are_no_counts(cli, tmp_path, largest, counts):
    """A frequent word of long texts, which numbers 50 where it is, leaves rows counts."""
    rng = np.random.default_rng(4)
    np.save(tmp_path / "edges.npy", rng.integers(80, size=(300, 2)))
    x = np.eye(16)[rng.integers(15, size=80)]
    x[:, -1] = largest
    np.save(tmp_path / "x.npy", x.astype(np.float32))
    assert cli("preprocess", tmp_path / "edges.npy", "--output", tmp_path / "data", "--features", tmp_path / "x.npy") == 0
    assert sampled(Dataset.open(tmp_path / "data").features).counts == counts


def test_columns_of_a_few_whole_numbers_may_be_codes(cli, tmp_path):
    rng = np.random.default_rng(5)
    np.save(tmp_path / "edges.npy", rng.integers(400, size=(900, 2)))
    columns = [
        rng.normal(size=400),
        rng.integers(7, size=400),
        rng.integers(2, size=400),
        rng.integers(18, 95, size=400),
        rng.integers(40, size=400),
        np.full(400, 3),
        rng.integers(7, size=400) * 1e30,
    ]
    for name, x in (("codes", np.stack(columns, 1)), ("words", rng.poisson(0.3, (400, 6)))):
        np.save(tmp_path / "x.npy", x.astype(np.float32))
        told = ["--features", tmp_path / "x.npy", "--output", tmp_path / name]
        assert cli("preprocess", tmp_path / "edges.npy", *told) == 0
        expected = {column: np.unique(columns[column]).tolist() for column in (1, 3, 4)} if name == "codes" else {}
        assert sampled(Dataset.open(tmp_path / name).features).codes == expected


def test_columns_of_few_codes_come_first(cli, tmp_path):
    rng = np.random.default_rng(5)
    np.save(tmp_path / "edges.npy", rng.integers(2000, size=(4000, 2)))
    counts = [200, 9, 250, 240, 230, 220, 3]
    np.save(tmp_path / "x.npy", np.stack([rng.integers(-1, count - 1, 2000) for count in counts], 1).astype(np.float32))
    told = ["--features", tmp_path / "x.npy", "--output", tmp_path / "data"]
    assert cli("preprocess", tmp_path / "edges.npy", *told) == 0
    found = sampled(Dataset.open(tmp_path / "data").features).codes
    assert list(found) == [0, 1, 3, 4, 5, 6]
    assert found[6] == [-1, 0, 1]
    assert sum(map(len, found.values())) <= MOST_CODES < sum(counts)


def test_flags_are_of_codes_in_order_of_columns():
    values = np.array([[0.5, 7, -1], [0.5, 2, 0], [0.5, 4, -1]])
    assert flags(values, {2: [-1, 0], 1: [2, 4]}).tolist() == [[0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]]
    assert flags(values, {}).shape == (3, 0)
