"""Features are scaled, rows by their sum or columns by their spread; learned numbers beside them stay as they are."""

import numpy as np
import torch

from marius_lite.nn.inputs import CodeColumns, DividedRows, KnownColumns, LogColumns, StandardColumns, as_they_are


def test_features_alone_are_scaled():
    x = torch.tensor([[2.0, -6.0, 5.0], [0.0, 0.0, -3.0]], requires_grad=True)
    found = DividedRows(2)(x)
    assert found.tolist() == [[0.25, -0.75, 5.0], [0.0, 0.0, -3.0]]
    found[:, 2].sum().backward()
    assert x.grad.tolist() == [[0, 0, 1], [0, 0, 1]]
    assert as_they_are(x) is x
    torch.testing.assert_close(DividedRows(3)(x.detach()[:1]).abs().sum(1), torch.ones(1))


def test_columns_are_standardised():
    x = torch.tensor([[2.0, 100.0, 5.0], [4.0, 300.0, -3.0]], requires_grad=True)
    scaled = StandardColumns(np.array([3, 200], np.float32), np.array([1, 100], np.float32))
    found = scaled(x)
    assert found.tolist() == [[-1, -1, 5], [1, 1, -3]]
    found[:, 2].sum().backward()
    assert x.grad.tolist() == [[0, 0, 1], [0, 0, 1]]
    assert scaled(x.detach()[:, :2]).tolist() == [[-1, -1], [1, 1]]


def test_what_is_far_from_the_others_is_cut_off():
    ones, rows = np.ones(2, np.float32), torch.tensor([[1e9, -3.0, 5e9], [-1e9, 31.0, -3.0]], requires_grad=True)
    for kind in (StandardColumns(ones, ones, 30.0), LogColumns(0 * ones, ones, ones, 30.0)):
        found = kind(rows)
        assert found.tolist() == [[30, -4, 5e9], [-30, 30, -3]]
        found[:, 2].sum().backward()
    uncut = LogColumns(np.array([1, 0], np.float32), 0 * ones, ones)(rows.detach())
    torch.testing.assert_close(uncut[0], torch.tensor([np.log(1e9 + 1), -3.0, 5e9], dtype=torch.float32))


def test_codes_stand_behind_features_and_before_learned_rows():
    x = torch.tensor([[2.0, 7.0, 5.0], [4.0, 1.0, -3.0], [4.0, 3.0, 9.0]], requires_grad=True)
    standard = StandardColumns(np.array([3, 3], np.float32), np.array([1, 2], np.float32))
    found = CodeColumns(2, {1: [1, 7], 0: [4]}, standard)(x)
    flags = [[0, 0, 1], [1, 1, 0], [1, 0, 0]]
    assert found.tolist() == [[-1, 2, *flags[0], 5], [1, -1, *flags[1], -3], [1, 0, *flags[2], 9]]
    found[:, 5].sum().backward()
    assert x.grad.tolist() == [[0, 0, 1]] * 3
    assert CodeColumns(3, {1: [1]}, as_they_are)(x.detach()).tolist()[1] == [4, 1, -3, 1]


def test_known_classes_stand_behind_all_else_as_columns_of_deviation_one():
    codes = torch.tensor([0.0, 1, 2, 2, 0, 0, 0, 2])
    x = torch.randn(8, 3, requires_grad=True)
    known = KnownColumns(np.array([1 / 8, 3 / 8, 0], np.float32), DividedRows(2))
    found = known(torch.cat([x, codes[:, None]], 1))
    assert torch.equal(found, known.beside(x, codes))
    assert torch.equal(found[:, :3], DividedRows(2)(x))
    told = found[:, 3:5]
    torch.testing.assert_close(told.mean(0), torch.zeros(2), atol=1e-6, rtol=0)
    torch.testing.assert_close(told.std(0, correction=0), torch.ones(2))
    assert torch.equal(told.argmax(0), torch.tensor([1, 2]))
    assert not found[:, 5].any(), "nobody is of the third class"
    found[:, :3].sum().backward()
    assert x.grad is not None
