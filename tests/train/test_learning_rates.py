"""Learning rates that change, 1vsAll and what else a published recipe asks for: continued, the same bits."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import yaml
import zarr
from safetensors.torch import load_file

from marius_lite.checkpoint.describe import describe_run
from marius_lite.checkpoint.state import State
from marius_lite.config.load import load
from marius_lite.config.schedule import may_ease, warmup_told
from marius_lite.errors import UserError
from marius_lite.train.run import resume_run, train_run

RECIPE = [
    "model.dim=8",
    "model.dropout=0.2",
    "negatives.count=all",
    "loss.relation_weight=0.2",
    "regularizer.name=n3",
    "regularizer.weight=0.05",
    "optimizer.rows.name=adagrad",
    "optimizer.rows.clip=2",
    "optimizer.dense.clip=20",
    "training.batch_size=64",
    "training.epochs=5",
    "training.threads=1",
    "evaluation.max_edges=40",
]
EACH_BATCH = ["training.batch_size=200", "checkpoint.keep=20", "checkpoint.every_minutes=1e-9"]


def at_end(run):
    """Checksums of everything that was learned."""
    state = json.loads((run / "checkpoints" / "5.0.0" / "state.json").read_text())
    return {key: state[key] for key in ("checksums", "dense", "drops", "weakened", "since", "highest")}


COSINE = ["optimizer.schedule.name=cosine", "optimizer.schedule.warmup=1.5"]
PLATEAU = ["optimizer.schedule.name=plateau", "optimizer.schedule.patience=1", "regularizer.decay=0.5"]


@pytest.mark.parametrize(
    ("schedule", "storage"),
    [
        (COSINE, ["storage.ordering=in_memory"]),
        (PLATEAU, ["storage.capacity=2", "negatives.first_epochs=2", "negatives.first_count=3"]),
        pytest.param(COSINE, ["storage.capacity=2"], marks=pytest.mark.slow),
        pytest.param(PLATEAU, ["storage.ordering=in_memory"], marks=pytest.mark.slow),
    ],
)
def test_a_resumed_recipe_ends_with_the_same_bits(tiny_dataset, tmp_path, schedule, storage):
    config = load(sets=[*RECIPE, *EACH_BATCH, *schedule, *storage])
    train_run(tiny_dataset, tmp_path / "run", config)
    places = [p.name for p in (tmp_path / "run" / "checkpoints").iterdir() if not p.is_symlink()]
    middle = sorted(places, key=lambda name: [*map(int, name.split("."))])[len(places) // 2]
    assert not middle.endswith(".0.0"), "in the middle of an epoch"
    shutil.copytree(tmp_path / "run", tmp_path / "other", symlinks=True)
    expected = at_end(tmp_path / "run")
    resume_run(tmp_path / "other", middle)
    assert at_end(tmp_path / "other") == expected


def test_a_resumed_run_may_change_its_rates_and_its_record_says_so(tiny_dataset, tmp_path):
    config = load(sets=[*RECIPE, "training.epochs=1"])
    train_run(tiny_dataset, tmp_path / "run", config)
    resume_run(tmp_path / "run", sets=["training.epochs=2", "optimizer.rows.lr=0.01"])
    record = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert record["config"]["optimizer"]["rows"]["lr"] == 0.01
    assert record["changes"] == [{"at": "1.0.0", "set": ["training.epochs=2", "optimizer.rows.lr=0.01"]}]
    assert describe_run(tmp_path / "run", verify=False)["changes"] == ["from 1.0.0 on: training.epochs=2 optimizer.rows.lr=0.01"]
    with pytest.raises(UserError, match=r"cannot change `optimizer\.rows\.name`"):
        resume_run(tmp_path / "run", sets=["optimizer.rows.name=sgd"])


def test_a_plateau_weakens_the_regularizer(tiny_dataset, tmp_path):
    """Nothing but its share tells two runs apart whose rates hardly drop. Among two candidates every figure is the same."""
    plateau = [
        "optimizer.schedule.name=plateau",
        "optimizer.schedule.patience=2",
        "optimizer.schedule.factor=0.999999",
        "training.metric=hits@10",
        "evaluation.candidates=1",
        "evaluation.every_epochs=1",
        "regularizer.weight=3",
    ]

    def rows(name, *more):
        train_run(tiny_dataset, tmp_path / name, load(sets=[*RECIPE, *plateau, *more]))
        state = json.loads((tmp_path / name / "checkpoints" / "5.0.0" / "state.json").read_text())
        rows = zarr.open_array(tmp_path / name / "checkpoints" / "5.0.0" / "nodes", mode="r")[:, :8]
        return state["weakened"], float(np.square(rows).sum())

    (_, strong), (weakened, weak) = rows("strong"), rows("weak", "regularizer.decay=0.01")
    assert weakened > 0
    assert weak > 1.5 * strong


STRANGLED = [
    "regularizer.decay=0.01",
    "regularizer.weight=3",
    "optimizer.schedule.name=plateau",
    "init.relations.scale=0.001",
    "optimizer.schedule.warmup=2",
    "training.batch_size=16",
    "evaluation.every_epochs=1",
]
"""A regularizer that makes rows and relations vanish before anything is learned."""


def test_a_regularizer_that_lets_nothing_grow_becomes_weaker(tiny_dataset, tmp_path):
    """Also in a run that is resumed from before it did, with the same bits. Then relations grow."""
    train_run(tiny_dataset, tmp_path / "run", load(sets=[*RECIPE, *STRANGLED, "checkpoint.keep=20"]))
    shutil.copytree(tmp_path / "run", tmp_path / "other", symlinks=True)
    expected = at_end(tmp_path / "run")
    assert expected["weakened"] > 0
    resume_run(tmp_path / "other", "1.0.0")
    assert at_end(tmp_path / "other") == expected
    train_run(tiny_dataset, tmp_path / "held", load(sets=[*RECIPE, *STRANGLED, "regularizer.eases=false"]))
    assert at_end(tmp_path / "held")["weakened"] == 0
    assert largest_relation(tmp_path / "run") > 3 * largest_relation(tmp_path / "held")


def largest_relation(run):
    return float(load_file(run / "checkpoints" / "5.0.0" / "dense.safetensors")["model.relations"].abs().max())


@pytest.mark.parametrize(
    ("sets", "batches", "expected"),
    [
        ([], 16, [4, 6, 8, 10]),
        ([], 5, [13, 15, 17, 19]),  # batches are few: later, and no step is made up for
        (["optimizer.schedule.warmup=0"], 64, [1, 3, 5, 7]),
        (["training.epochs=8"], 16, [4, 6]),  # nothing follows the last epoch
        (["regularizer.decay=1", "optimizer.schedule.name=constant"], 16, []),
        (["regularizer.weight=0"], 16, []),
        (["regularizer.eases=false"], 16, []),
    ],
)
def test_a_regularizer_eases_every_other_epoch_once_relations_have_had_time(sets, batches, expected):
    told = ["optimizer.schedule.warmup=16", "training.batch_size=1000", "training.epochs=40"]
    config, eased = load(sets=["regularizer.name=n3", *STRANGLED[:3], *told, *sets]), []
    for epochs in range(1, config.training.epochs + 1):
        if may_ease(config, epochs, 1000 * batches, weakened=len(eased)):
            eased.append(epochs)
    assert eased[:4] == expected


def test_what_eased_is_kept_when_plateaus_change_it():
    """A row of plateaus begins anew, so that its changes cancel each other."""
    state = replace(State(None, "", {}, 0), highest=1.0)
    state = state.measured("mrr", 0.5, patience=1, weakens=True).eased()
    assert (state.weakened, state.since, state.tries_first) == (2, 0, -1)
    for _ in range(5):
        state = state.measured("mrr", 0.5, patience=1, weakens=True)
    assert (state.weakened, state.drops) == (2, 1)


def test_rates_drop_at_once_where_there_is_no_regularizer_to_change(tiny_dataset, tmp_path):
    sets = [
        "model.dim=8",
        "regularizer.decay=0.5",
        "training.epochs=5",
        "evaluation.max_edges=40",
        "training.metric=hits@1",
        "optimizer.schedule.name=plateau",
        "optimizer.schedule.patience=1",
        "optimizer.rows.lr=1e-9",
    ]
    train_run(tiny_dataset, tmp_path / "run", load(sets=sets))
    state = at_end(tmp_path / "run")
    assert state["drops"] > 0
    assert state["weakened"] == 0


def test_a_weaker_and_a_stronger_regularizer_are_tried_before_rates_drop():
    state, seen = State(None, "", {}, 0), []
    for value in (1.0, 0.9, 0.8, 0.7, 0.6, 0.6, 0.6, 1.1, 1.0, 1.0, 1.2, 1.1, 1.1, 1.1, 1.3, 1.2):
        state = state.measured("mrr", value, patience=1, weakens=True)
        seen.append((state.weakened, state.drops))
    assert seen == [
        (0, 0),
        (1, 0),
        (1, 0),
        (-1, 0),
        (-1, 0),
        (0, 1),
        (0, 2),
        (0, 2),
        (1, 2),
        (1, 2),
        (1, 2),
        (2, 2),
        (2, 2),
        (0, 2),
        (0, 2),
        (-1, 2),
    ]


def test_what_was_better_is_tried_first_the_next_time():
    """Stronger was, at 1.1. So it is tried again before weaker, until weaker is better, at 1.2."""
    state, seen = State(None, "", {}, 0), []
    for value in (1.0, 0.9, 0.8, 0.7, 1.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.12, 1.1, 1.1, 1.1, 1.2, 1.1):
        state = state.measured("mrr", value, patience=1, weakens=True)
        seen.append((state.weakened, state.drops))
    weaker_then_stronger = [(0, 0), (1, 0), (1, 0), (-1, 0), (-1, 0)]
    stronger_then_weaker = [(-2, 0), (-2, 0), (0, 0), (0, 0), (-1, 1), (-1, 2), (-1, 2)]
    again = [(-2, 2), (-2, 2), (0, 2), (0, 2), (1, 2)]
    assert seen == weaker_then_stronger + stronger_then_weaker + again


def test_rates_drop_only_after_evaluations_that_were_none_better():
    state, seen = State(None, "", {}, 0), []
    for value in (1.0, 0.9, 0.8, 1.1, 1.0, 1.0, 1.0):
        state = state.measured("mrr", value, patience=2)
        seen.append((state.since, state.drops))
    assert seen == [(0, 0), (1, 0), (2, 1), (0, 1), (1, 1), (2, 2), (3, 2)]


def test_evaluations_that_do_not_count_change_nothing_unless_they_are_better():
    state = State(None, "", {}, 0).measured("mrr", 1.0, patience=1)
    assert state.measured("mrr", 0.9, patience=1, counts=False) == state
    assert state.measured("mrr", 1.1, patience=1, counts=False).highest == 1.1


@pytest.mark.parametrize(("epochs", "said"), [("16", ["learning rates rise for 16 epochs"]), ("1.5", []), ("0", [])])
def test_a_long_warmup_is_told_of(epochs, said):
    assert [line[:33] for line in warmup_told(load(sets=[f"optimizer.schedule.warmup={epochs}"]))] == said


@pytest.mark.parametrize(("patient", "epochs"), [(False, 2), (True, 5)])
def test_a_patient_warmup_is_not_taken_for_a_plateau(tiny_dataset, tmp_path, patient, epochs):
    """Among two candidates every figure is the same: each evaluation but the first is one that was not better."""
    sets = [
        "model.dim=8",
        "training.epochs=9",
        "training.early_stopping=1",
        "training.metric=hits@10",
        "evaluation.candidates=1",
        "evaluation.every_epochs=1",
        "optimizer.rows.lr=1e-9",
        "optimizer.schedule.name=plateau",
        "optimizer.schedule.patience=1",
        "optimizer.schedule.warmup=4",
        f"optimizer.schedule.patient_warmup={patient}",
    ]
    assert train_run(tiny_dataset, tmp_path / "run", load(sets=sets))["epochs"] == epochs


def test_in_batch_negatives_corrected_and_masked_are_learned_from(tiny_dataset, tmp_path):
    sets = [
        "negatives.count=60",
        "negatives.chunks=2",
        "negatives.degree_fraction=0.5",
        "negatives.log_q=true",
        "negatives.mask_known=true",
        "storage.capacity=3",
        "training.batch_size=100",
        "training.epochs=4",
        "model.dim=16",
    ]
    summary = train_run(tiny_dataset, tmp_path / "run", load(sets=sets))
    assert summary["best_mrr"] > 0.1  # of 300 nodes; by chance 0.02
