import pytest
import yaml

from marius_lite.config.load import load
from marius_lite.config.schema import Config
from marius_lite.errors import UserError


def test_defaults_are_valid_and_survive_a_round_trip():
    config = load()
    assert load(values=yaml.safe_load(yaml.safe_dump(config.model_dump(mode="json")))) == config


def test_sets_win_over_values_and_file(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("training: {epochs: 3, seed: 1}\nstorage: {memory: 4GB}\n")
    config = load(file, ["training.epochs=7"], {"training": {"seed": 2}})
    assert (config.training.epochs, config.training.seed, config.storage.memory) == (7, 2, 4 * 10**9)


def test_fanouts_are_numbers_or_numbers_by_relation():
    config = load(sets=["model.encoder=sage", "model.layers=[4]", "sampling.fanouts=[{cites: 5, 7: -1, default: 0}, 3]"])
    assert config.sampling.fanouts == ({"cites": 5, "7": -1, "default": 0}, 3)
    assert load(values=yaml.safe_load(yaml.safe_dump(config.model_dump(mode="json")))) == config


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["model.dims=3"], "unknown key `model.dims`: did you mean `model.dim`?"),
        (["modle.dim=3"], "did you mean `model`?"),
        (["seed=1"], "unknown key `seed`: did you mean `training.seed`?"),
        (["model.lr=1"], "unknown key `model.lr`: did you mean `optimizer.rows.lr` or `optimizer.dense.lr`?"),
        (["zzz=3"], "unknown key `zzz`: known keys here: task, model"),
        (["model.dim=abc"], "`model.dim` is 'abc'"),
        (["model.dim=0"], "greater than 0"),
        (
            [f"training.early_stopping=0x{'f' * 5000}"],
            "an integer beyond all bounds: Input should be a whole number of at most 64 bits",
        ),
        ([f"training.seed={1 << 63}"], "at most 64 bits"),
        (["sampling.fanouts=[5, {cites: 99999999999999999999}]"], "`sampling.fanouts` is "),
        (["model.decoder=foo"], "'dot', 'distmult', 'complex', 'transe', 'transe_l1' or 'rotate'"),
        (["storage.memory=4XB"], "not a size"),
        (["storage.capacity=some"], "`storage.capacity` is 'some'"),
        (["device=tpu"], "`device` is 'tpu'"),
        (["model=3"], "`model` is 3"),
        (["training.epochs"], "write key.path=value"),
        (["optimizer.rows.lr=nan"], "`optimizer.rows.lr`"),
        (["model.decoder=complex", "model.dim=5"], "even dim"),
        (["model.biases=true", "model.decoder=rotate"], "use one of dot, distmult, complex, or `model.biases: false`"),
        (["model.biases=true"], "`optimizer.rows.name` is row_adagrad: it has one rate"),
        (["model.biases=true", "optimizer.rows.name=sgd"], "`optimizer.rows.name` is sgd: scores have 10 times the biases"),
        (["model.biases=true", "optimizer.rows.name=adagrad", "model.dim=2"], "`model.biases` takes two: choose 4 or more"),
        (["loss.margin=2"], "`loss.margin` is 2.0"),
        (["loss.adversarial_temperature=1"], "only logistic"),
        (["regularizer.weight=0.1"], "`regularizer.name` is none"),
        (["negatives.chunks=20", "training.batch_size=10"], "more than `training.batch_size`"),
        (["negatives.degree_fraction=1.5"], "less than or equal to 1"),
        (["sampling.fanouts=[{cites: -2}]"], "`sampling.fanouts` is {'cites': -2}: Input should be a valid integer, or "),
        (["sampling.fanouts=[{}]"], "`sampling.fanouts` is {}"),
        (["sampling.weighted=true"], "`model.encoder` is none: only an encoder samples neighbours"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(sets, said):
    with pytest.raises(UserError) as error:
        load(sets=sets)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [("- 1\n", "expected sections"), ("a: [", "not valid YAML"), ("training: {epohcs: 1}", "did you mean `training.epochs`?")],
)
def test_a_bad_file_is_named(tmp_path, text, said):
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=r"c\.yaml") as error:
        load(file)
    assert said in str(error.value)
    with pytest.raises(UserError, match="no such configuration file"):
        load(tmp_path / "none.yaml")


def test_the_record_of_a_run_gives_what_any_machine_can_take(link_run):
    recorded = yaml.safe_load((link_run / "config.yaml").read_text())["config"]
    taken, default = load(link_run / "config.yaml").model_dump(mode="json"), load().model_dump(mode="json")
    for section in ("model", "negatives", "optimizer", "evaluation"):
        assert taken[section] == recorded[section]
    for section in ("scale", "checkpoint", "device"):
        assert taken[section] == default[section]
    assert taken["storage"] == {**default["storage"], "row_dtype": recorded["storage"]["row_dtype"]}
    assert taken["training"]["epochs"] == recorded["training"]["epochs"]
    assert (taken["training"]["threads"], taken["training"]["scoring"]) == ("auto", "auto")


def test_every_key_is_explained():
    def leaves(model):
        for name, field in model.model_fields.items():
            if hasattr(field.annotation, "model_fields"):
                yield from leaves(field.annotation)
            else:
                yield name, field

    for name, field in leaves(Config):
        assert field.description, name
