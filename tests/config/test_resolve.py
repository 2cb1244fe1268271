import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marius_lite.config.encoder_memory import EncoderSizes, ResidentGraph, encoder_bytes, most_drawn
from marius_lite.config.facts import Facts, NodeFacts
from marius_lite.config.link_planning import link_sizes
from marius_lite.config.load import load
from marius_lite.config.memory import EDGE_BYTES, KEPT_BYTES, ORDER_BYTES, device_bytes, largest_window
from marius_lite.config.resolve import resolve
from marius_lite.errors import UserError
from marius_lite.ordering.plan import make_plan


def facts(partitions=16, rows=1000, edges_per_bucket=100, memory=10**12):
    return Facts(
        nodes=partitions * rows,
        relations=3,
        splits={"train": 1000, "valid": 100},
        partitions=partitions,
        rows_per_partition=rows,
        bucket_counts=np.full((partitions, partitions), edges_per_bucket),
        stride=416,
        available_memory=memory,
        threads=2,
        cuda=False,
    )


def autos(tree):
    for key, value in tree.items():
        yield from autos(value) if isinstance(value, dict) else [key] if value == "auto" else []


def test_nothing_stays_auto_and_resolving_again_changes_nothing():
    config, memory = resolve(load(), facts())
    assert list(autos(config.model_dump())) == [
        "kind",
        "scale",
        "kind",
        "scale",  # the decoder's own; only first rows are drawn
        "layer_epochs",  # of a run that trains layers one after another
        "scoring",  # this and the next: `tasks.resolved` measures on the processor
        "products",
        "packs_disk",  # follows from the dataset, and changes no result
        "cache",  # what the disk has, for files from object storage
        "device_path",
        "device_memory",
    ]  # of the GPU a run finds; they change no result
    assert resolve(config, facts(memory=10**9)) == (config, memory)


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        ([], "batches 9.* tensors .* scores 360.* held 0"),
        (["storage.device_path=bulk"], "held 6.82 MB"),
        (["storage.device_cache=5MB"], "held 5.00 MB"),
    ],
)
def test_too_little_memory_on_the_device(sets, said):
    asked = load(sets=["storage.device_memory=200MB", "device=cuda", *sets])
    with pytest.raises(UserError, match=f"`storage.device_memory` is 200.00 MB, but the device needs .*{said}"):
        resolve(asked, facts())
    resolve(load(sets=["storage.device_memory=2GB", "device=cuda", *sets]), facts())


def test_plenty_of_memory_is_in_memory():
    config, memory = resolve(load(), facts())
    assert (config.storage.ordering, config.storage.capacity, memory.spare) == ("in_memory", 16, 0)


@settings(deadline=None, max_examples=30)
@given(st.integers(30_000_000, 400_000_000), st.sampled_from([4, 7, 16, 32]), st.sampled_from([1000, 20_000]))
def test_the_plan_keeps_the_budget(budget, partitions, rows):
    asked = load(sets=[f"storage.memory={budget}", "training.batch_size=1000", "negatives.count=100"])
    known = facts(partitions, rows)
    try:
        config, memory = resolve(asked, known)
    except UserError:
        with pytest.raises(UserError, match=r"`storage.memory` is .* but two resident partitions"):
            resolve(asked, known)
        return
    assert memory.total <= budget
    assert config.storage.memory == budget
    assert memory.slots * memory.slot_bytes == memory.buffer
    an_edge = EDGE_BYTES + ORDER_BYTES * memory.orders_ahead
    assert memory.edges == memory.window_edges * an_edge + memory.kept_edges * KEPT_BYTES
    assert memory.orders_ahead or memory.total + ORDER_BYTES * memory.window_edges > budget
    assert memory.kept_edges in (0, known.bucket_counts.sum())
    assert resolve(config, known) == (config, memory)


@given(st.integers(2, 16), st.integers(1, 10**5), st.integers(10**7, 10**11), st.booleans())
def test_edges_drawn_by_weight_have_the_memory_that_they_take(partitions, rows, budget, corrected):
    sets = [f"storage.memory={budget}", "training.batch_size=1000", "negatives.count=100"]
    sets += ["negatives.log_q=true", "negatives.degree_fraction=0.5"] if corrected else []
    known = facts(partitions, rows)
    try:
        config, memory = resolve(load(sets=[*sets, "training.weight_power=0.5"]), known)
        _, without = resolve(
            load(sets=[*sets, "storage.window_edges=1000", f"storage.capacity={config.storage.capacity}"]), known
        )
    except UserError:
        return
    assert memory.total <= budget
    assert memory.orders_ahead  # a window's order is made where its weights are read
    window = EDGE_BYTES + ORDER_BYTES + 8 + 4 * corrected  # weights and drawn places; one side's ends that were drawn
    assert memory.edges == memory.window_edges * window + memory.kept_edges * (KEPT_BYTES + 4)
    assert memory.buffer == without.buffer
    assert resolve(config, known) == (config, memory)


def test_windows_hold_the_steps_of_every_epoch_where_memory_allows():
    config, memory = resolve(load(sets=["storage.capacity=4"]), facts(edges_per_bucket=1000))
    assert config.storage.ordering == "comet"
    for epoch in range(20):
        plan = make_plan("comet", 16, 4, 0, epoch)
        counts = np.full((16, 16), 1000)
        assert largest_window([s.buckets for s in plan.steps], counts) <= memory.window_edges


@pytest.mark.parametrize(
    ("sets", "rows", "advice"),
    [
        (["training.batch_size=1000000"], 1000, "lower training.batch_size or negatives.count"),
        (["training.batch_size=10", "negatives.count=9"], 10**6, "more partitions (or `repartition`) or lower model.dim"),
        (["training.batch_size=10", "negatives.count=9"], 1000, "set evaluation.every_epochs to 0"),
    ],
)
def test_too_little_memory_is_told_by_what_takes_it(sets, rows, advice):
    with pytest.raises(UserError) as error:
        resolve(load(sets=[*sets, "storage.memory=1MB"]), facts(rows=rows))
    assert str(error.value).endswith(advice)
    assert len(re.findall(r"(?:slots|edges|a batch|evaluation) [\d.]+ [MGK]?B[,)]", str(error.value))) == 4


@pytest.mark.parametrize(
    ("task", "metric", "resolved"),
    [
        ("link_prediction", "auto", "mrr"),
        ("link_prediction", "hits@10", "hits@10"),
        ("node_classification", "auto", "accuracy"),
        ("node_classification", "log_loss", "log_loss"),
        ("link_prediction", "roc_auc", None),
        ("node_classification", "mrr", None),
    ],
)
def test_the_metric_is_one_of_the_task(task, metric, resolved):
    sets = [f"task={task}", f"training.metric={metric}", *(["model.encoder=sage"] if task == "node_classification" else [])]
    known = replace(facts(), lists=1000, features=64, feature_width=16, nodes_to_classify=NodeFacts(3, 100, 1))
    if resolved is None:
        with pytest.raises(UserError, match=f"`training.metric` is {metric}, but an evaluation of {task} tells"):
            load(sets=sets)
    else:
        config = load(sets=sets)
        assert resolve(config, known if task == "node_classification" else facts())[0].training.metric == resolved


def test_nodes_of_several_classes():
    one, several = (
        replace(facts(), lists=1000, features=64, feature_width=16, nodes_to_classify=NodeFacts(30, 100, 1, multi_label=many))
        for many in (False, True)
    )
    sets = ["task=node_classification", "model.encoder=sage", "training.batch_size=50", "storage.capacity=4"]
    (config, memory), (of_one, less) = resolve(load(sets=sets), several), resolve(load(sets=sets), one)
    assert (config.training.metric, config.loss.name) == ("micro_f1", "binary_cross_entropy")
    assert (of_one.training.metric, of_one.loss.name) == ("accuracy", "cross_entropy")
    assert resolve(config, several)[0] == config
    assert memory.edges - less.edges == 100 * 30  # a byte for each class of the training nodes
    assert memory.workspace - less.workspace >= 50 * 30 * (2 + 4)
    assert (memory.buffer, memory.evaluation) == (less.buffer, less.evaluation)
    for known, name, said in (
        (several, "cross_entropy", "have any number of classes: use binary_cross_entropy"),
        (one, "binary_cross_entropy", "have one class: use cross_entropy"),
    ):
        with pytest.raises(UserError, match=f"`loss.name` is {name}, but nodes of the dataset {said}, or leave it out"):
            resolve(load(sets=[*sets, f"loss.name={name}"]), known)
    with pytest.raises(UserError, match=r"`loss.name` is binary_cross_entropy, but `task` is link_prediction"):
        load(sets=["loss.name=binary_cross_entropy"])


def test_class_weights_are_one_for_each_class():
    known = replace(facts(), lists=1000, features=64, feature_width=16, nodes_to_classify=NodeFacts(3, 100, 1))
    sets = ["task=node_classification", "model.encoder=sage"]
    resolve(load(sets=[*sets, "loss.class_weights=[1,2,3]"]), known)
    with pytest.raises(UserError, match="has 2 numbers, the dataset has 3 classes"):
        resolve(load(sets=[*sets, "loss.class_weights=[1,2]"]), known)
    with pytest.raises(UserError, match="is set, but `task` is link_prediction"):
        load(sets=["loss.class_weights=balanced"])


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["storage.capacity=17"], "`storage.capacity` is 17"),
        (["storage.capacity=1"], "`storage.capacity` is 1"),
        (["storage.capacity=4", "storage.ordering=in_memory"], "in_memory"),
        (["storage.capacity=8", "storage.memory=1MB"], "`storage.capacity` 8 needs"),
        (["storage.memory=1MB"], "`storage.memory` is 1.00 MB, but two resident partitions"),
    ],
)
def test_what_cannot_be_is_refused(sets, said):
    with pytest.raises(UserError) as error:
        resolve(load(sets=sets), facts())
    assert said in str(error.value)


def test_one_partition_is_in_memory():
    config, _ = resolve(load(sets=["storage.capacity=1"]), facts(partitions=1))
    assert config.storage.ordering == "in_memory"


def test_without_a_validation_split_nothing_is_evaluated():
    bare = replace(facts(), splits={"train": 1000})
    assert resolve(load(), bare)[0].evaluation.every_epochs == 0
    assert resolve(load(), facts())[0].evaluation.split == "valid"
    with pytest.raises(UserError, match=r"`evaluation.split` is test, but the dataset has train"):
        resolve(load(sets=["evaluation.split=test"]), bare)


def test_a_buffer_beyond_what_an_edge_can_name_is_refused():
    with pytest.raises(UserError, match=r"`storage.capacity` 4 makes a buffer of 4294967296 rows"):
        resolve(load(), replace(facts(partitions=4, rows=2**30, memory=10**16)))


def test_fanouts_by_relation_count_as_what_can_be_drawn_at_most():
    def workspace(fanouts, relations):
        config = load(sets=["model.encoder=sage", f"sampling.fanouts=[{fanouts}]"])
        return encoder_bytes(config, EncoderSizes(400, ResidentGraph(100_000, 50_000, relations), 16, 16, 64))

    assert most_drawn({"a": 2, "b": -1, "default": 3}, 4) == 2 + 15 + 2 * 3
    assert most_drawn({"a": 2}, 4) == 2
    assert workspace("{default: 5}", 4) - workspace("20", 4) == 8 * 400 * 20  # the places of edges that are chosen by keys
    assert workspace("{default: 5}", 50) - workspace("{default: 5}", 49) > 0
    assert workspace("{default: 5}", 2000) == workspace("{default: 5}", 1000)  # no more than all that is resident


@pytest.mark.parametrize(("inputs", "stride", "width"), [("features", 208, 100), ("both", 624, 200), ("embeddings", 416, 100)])
def test_features_count_in_link_prediction_on_a_device(inputs, stride, width):
    known = replace(facts(), cuda=True, features=208, feature_width=100, lists=1000)
    config = resolve(load(sets=["model.encoder=sage", f"model.inputs={inputs}"]), known)[0]
    assert config.device == "cuda"
    found = link_sizes(config, known, 4)
    assert (found.stride, found.in_width, found.out_width, found.tables) == (stride, width, 100, 2 if inputs == "both" else 1)


def test_the_gpu_samples_where_it_trains_and_draws_alike():
    cuda = replace(facts(), cuda=True, lists=1000)

    def found(known, *sets):
        return resolve(load(sets=["model.encoder=sage", *sets]), known)[0].sampling.device

    assert found(cuda) == "auto", "measured while it trains"
    assert found(cuda, "sampling.device=cuda") == "cuda"
    assert found(cuda, "sampling.device=cpu") == found(cuda, "sampling.weighted=true") == "cpu"
    assert found(cuda, "sampling.fanouts=[{default: 3}]") == found(facts()) == found(cuda, "model.encoder=none") == "cpu"
    with pytest.raises(UserError, match=r"`sampling.device` is cuda, but `device` is cpu: .*use `sampling.device: cpu`, or"):
        found(facts(), "sampling.device=cuda")
    with pytest.raises(UserError, match=r"`sampling.device` is cuda, but `device` is cpu"):
        found(cuda, "sampling.device=cuda", "device=cpu")
    for more, why in (
        ("sampling.weighted=true", "is true or `sampling.fanouts` differ by relation"),
        ("sampling.fanouts=[{default: 3}]", "differ by relation"),
        ("model.encoder=none", "only an encoder"),
    ):
        with pytest.raises(UserError, match=why):
            found(cuda, "sampling.device=cuda", more)


def test_rows_of_bfloat16_are_for_the_cpu_where_there_are_any():
    cuda = replace(facts(), cuda=True, features=208, feature_width=100, lists=1000)

    def device(*sets):
        return resolve(load(sets=["storage.row_dtype=bfloat16", *sets]), cuda)[0].device

    assert device() == device("model.encoder=sage", "model.inputs=both") == "cpu"
    assert device("model.encoder=sage", "model.inputs=features") == "cuda"
    assert device("model.encoder=sage", "model.inputs=features", "device=cuda:1") == "cuda:1"
    for wrong in ("device=cuda", "sampling.device=cuda"):
        key = wrong.partition("=")[0]
        with pytest.raises(UserError, match=f"`storage.row_dtype` is bfloat16, but `{key}` is cuda: .* leave `{key}` out"):
            device("model.encoder=sage", "model.inputs=both", wrong)


def test_scores_of_relations_are_counted_where_they_are_predicted():
    sets = ["training.batch_size=10000", "negatives.count=100", "model.decoder=complex"]
    few, many = (
        device_bytes(load(sets=[*sets, f"loss.relation_weight={weight}"]), 0, 0, 1000, 3000)["scores"] for weight in (0, 0.1)
    )
    assert few < many == 3 * 4 * 15_000 * 2 * 3000
