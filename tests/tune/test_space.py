"""The search space: what a user may write, and that every point of the default is a configuration."""

import random

import pytest

from marius_lite.config import presets
from marius_lite.config.decoders import DECODERS
from marius_lite.config.load import load
from marius_lite.errors import UserError
from marius_lite.tune.space import Choices, Span, applied, default_space, first_point, read_space, setting

LINKS = ["kg-small", "kg", "kg-large", "social", "plain"]


def drawn(space, rng):
    return {
        key: rng.choice(searched.values)
        if isinstance(searched, Choices)
        else rng.randint(searched.low, searched.high)
        if searched.whole
        else rng.uniform(searched.low, searched.high)
        for key, searched in space.items()
    }


@pytest.mark.parametrize("name", list(presets.PRESETS))
def test_every_point_is_a_configuration(name):
    file, rng = presets.PREFIX + name, random.Random(0)
    space = default_space(load(file), 1 if name == "social" else 5, file)
    for point in [first_point(space, load(file)), *(drawn(space, rng) for _ in range(60))]:
        decoder = [f"model.decoder={point['model.decoder']}"] if "model.decoder" in point else []
        config = load(file, applied(point, load(file, decoder)))
        assert DECODERS[config.model.decoder].inner or config.model.dim <= load(file, decoder).model.dim


@pytest.mark.parametrize("name", list(presets.PRESETS))
def test_the_first_point_is_the_preset(name):
    file = presets.PREFIX + name
    base = load(file)
    config = load(file, applied(first_point(default_space(base, 5, file), base), base))
    assert config.regularizer.weight in (base.regularizer.weight, 0.05)
    assert config.model_copy(update={"regularizer": base.regularizer}) == base


def test_a_file_narrows_widens_and_removes(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "model.dim: [16, 32]\nloss.name: null\nnegatives.count: {low: 10, high: 99}\nmodel.layers: [[8], [4, 4]]\n"
        "optimizer.rows.lr: {low: 0.01, high: 1.0, log: true}"
    )
    default = {"model.dim": Choices((64,)), "loss.name": Choices(("softmax",)), "model.dropout": Choices((0.0, 0.1))}
    assert read_space(tmp_path / "s.yaml", default) == {
        "model.dropout": Choices((0.0, 0.1)),
        "model.dim": Choices((16, 32)),
        "negatives.count": Span(10, 99),
        "model.layers": Choices(((8,), (4, 4))),
        "optimizer.rows.lr": Span(0.01, 1.0, log=True),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model.dims: [8]", "did you mean `model.dim`"),
        ("model.dim: [8, -1]", "`model.dim` is -1"),
        ("model.dim: 8", "`model.dim` is 8: write a list of values"),
        ("model.dim: []", "write a list of values"),
        ("optimizer.rows.lr: {low: 1, high: 0.1}", "low must be below high"),
        ("optimizer.rows.lr: {low: 0, high: 1, log: true}", "above 0 where log is true"),
        ("optimizer.rows.lr: {low: 0.1, hihg: 1}", "write a list of values"),
        ("optimizer.rows.lr: {low: 0.1, high: 1, log: 3}", "write a list of values"),
        ("model.dim: null", "leaves no setting to search"),
        ("- 1", "settings such as model.dim are needed"),
        ("{", "not valid YAML"),
    ],
)
def test_what_is_no_space_is_refused(tmp_path, text, said):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(UserError) as raised:
        read_space(tmp_path / "s.yaml", {"model.dim": Choices((64,))})
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_settings_are_what_set_takes():
    assert [setting("a", value) for value in ("x", 1, 0.5, (8, 8))] == ['a="x"', "a=1", "a=0.5", "a=[8, 8]"]
