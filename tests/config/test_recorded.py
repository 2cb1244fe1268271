"""What a run's record says is completed by what its version did, and stripped of its machine."""

import copy

from marius_lite.config.load import check, load
from marius_lite.config.recorded import BEFORE_THERE_WAS_A_CHOICE, complete, of_any_machine


def test_what_an_earlier_version_did_not_write_is_what_it_did():
    recorded = load(sets=["task=node_classification", "model.encoder=gcn", "model.dropout=0.25"]).model_dump(mode="json")
    for section, values in BEFORE_THERE_WAS_A_CHOICE.items():
        for key in values:
            del recorded[section][key]
    del recorded["model"]["input_dropout"]
    before = copy.deepcopy(recorded)
    for config in (complete(recorded), of_any_machine(recorded)):
        found = check(config, "record")
        assert found.model.weight_unit == 0
        assert found.model.input_dropout == 0.25
        assert not found.negatives.balance
        assert not found.evaluation.calibrated
    assert check(complete(recorded), "record").training.products == "onednn"
    assert recorded == before


def test_what_is_no_section_stays_to_be_told_of():
    assert complete([1]) == [1]
    assert of_any_machine({"sampling": None, "model": {}, "device": "cuda", "storage": 3})["sampling"] is None
    assert "device" not in of_any_machine({"device": "cuda"})
