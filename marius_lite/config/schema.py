"""Every key of the configuration: one schema for YAML, ``--set`` and the Python API.

``auto`` is a value like any other here; `config.resolve` turns it into a number for one dataset and one machine.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from marius_lite._native import ROW_OPTIMIZERS
from marius_lite.config.decoders import DECODERS
from marius_lite.config.metric import Metric
from marius_lite.config.names import NameOf
from marius_lite.files import parse_bytes
from marius_lite.ordering.plan import ORDERINGS

Auto = Literal["auto"]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)]
BytesOrNone = Annotated[int, BeforeValidator(parse_bytes), Field(ge=0)]


def _text_keys(value: object) -> object:
    """Relations may be numbers, in YAML too."""
    return {str(key): number for key, number in value.items()} if isinstance(value, dict) else value


DEFAULT = "default"
"""Stands for the relations that a mapping of fanouts does not name."""
Count = Annotated[int, Field(ge=-1)]
Fanout = Count | Annotated[dict[str, Count], BeforeValidator(_text_keys), Field(min_length=1)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)


class ModelSection(Section):
    encoder: Annotated[str, Field(pattern=r"^(none|sage|gcn|gat|rgcn|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$")] = Field(
        "none", description="how rows become representations: sage, gcn, gat, rgcn, or package.module:Class with PyTorch "
        "Geometric's forward(x, edge_index); none: the row is the embedding")
    layers: tuple[PositiveInt, ...] = Field(
        (), description="widths between an encoder's layers: one layer more than widths, the last as wide as classes or dim")
    inputs: Literal["auto", "features", "embeddings", "both"] = Field(
        "auto", description="what an encoder begins with; auto: features where the dataset has them, else learned embeddings; "
        "without an encoder, embeddings")
    heads: PositiveInt = Field(1, description="attention heads of each layer but the last (gat)")
    norm: Literal["none", "layer", "batch"] = Field("none", description="normalisation between an encoder's layers")
    residual: bool = Field(False, description="add a layer's input, projected where widths differ, to its output")
    decoder: Annotated[str, NameOf(DECODERS)] = Field(
        "complex", description="how a source, a relation and a destination are scored; transe: L2 distance")
    dim: PositiveInt = Field(100, description="numbers stored per node (complex, rotate: two per complex number)")
    reciprocal: bool = Field(True, description="a second row per relation for the inverse direction")
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(
        0.0, description="share of the numbers of gathered rows, and between an encoder's layers, set to zero while training")
    normalize_features: bool = Field(False, description="divide each node's features by the sum of their magnitudes")


class DrawSection(Section):
    kind: Literal["auto", "normal", "uniform"] = Field(
        "auto", description="what first values are drawn from; auto: as the decoder's authors do")
    scale: PositiveFloat | Auto = Field(
        "auto", description="standard deviation (normal) or bound (uniform); auto: as the decoder's authors do")


class InitSection(Section):
    nodes: DrawSection = Field(default_factory=DrawSection)
    relations: DrawSection = Field(default_factory=DrawSection)


class LossSection(Section):
    name: Literal["auto", "softmax", "logistic", "margin", "cross_entropy", "binary_cross_entropy"] = Field(
        "auto", description="over a positive and its negatives; over classes cross_entropy, or where a node may have several "
        "binary_cross_entropy of each; auto: softmax, or what suits the labels")
    margin: PositiveFloat = Field(1.0, description="margin of the margin loss")
    offset: NonNegativeFloat = Field(
        0.0, description="logistic: added to every score, for decoders whose scores are negated distances (transe, rotate)")
    adversarial_temperature: NonNegativeFloat = Field(
        0.0, description="logistic: weight negatives by softmax(temperature * score); 0: all alike")
    relation_weight: NonNegativeFloat = Field(
        0.0, description="factor of a second loss: predicting an edge's relation from its ends (distmult, complex, transe)")
    class_weights: Literal["none", "balanced"] | tuple[PositiveFloat, ...] = Field(
        "none", description="cross_entropy: factor of the loss of a node of each class; balanced: training nodes / (classes * "
        "those of the class); or one number for each class, in order. binary_cross_entropy: factor where a node has the class; "
        "balanced: training nodes that have it not / those that do")


class NegativesSection(Section):
    count: PositiveInt | Literal["all"] = Field(
        1000, description="shared negatives of one chunk, for each side; all: every resident node, for all edges and both sides")
    chunks: PositiveInt = Field(10, description="parts of a batch, each with its own negatives")
    degree_fraction: Fraction = Field(0.0, description="share of the negatives taken from the batch's own nodes")
    log_q: bool = Field(
        False, description="take from each score the logarithm of how often its node is drawn, so that frequent nodes are not "
        "pushed down for being frequent (degree_fraction above 0)")
    mask_known: bool = Field(False, description="leave out negatives that an edge of the same batch makes true answers")


class RowOptimizerSection(Section):
    name: Annotated[str, NameOf(ROW_OPTIMIZERS)] = Field("row_adagrad", description="update rule of node rows")
    lr: PositiveFloat = Field(0.1, le=1e30, description="learning rate of node rows")
    clip: NonNegativeFloat = Field(0.0, description="the largest norm of a row's gradient, above which it is scaled down; 0: any")


class DenseOptimizerSection(Section):
    name: Literal["adagrad", "adam", "sgd"] = Field("adagrad", description="update rule of relations and dense weights")
    lr: PositiveFloat = Field(0.1, le=1e30, description="learning rate of relations and dense weights")
    clip: NonNegativeFloat = Field(
        0.0, description="the largest norm of all these gradients together, above which they are scaled down; 0: any")
    weight_decay: NonNegativeFloat | tuple[NonNegativeFloat, ...] = Field(
        0.0, description="factor of the weights added to their gradient: one, or one for each of an encoder's layers")


class ScheduleSection(Section):
    name: Literal["constant", "linear", "cosine", "plateau"] = Field(
        "constant", description="how both learning rates change from window to window of edges: to 0 at the last epoch's end "
        "along a line or half a cosine; plateau: by `factor` whenever `patience` evaluations in a row were none better")
    warmup: NonNegativeFloat = Field(0.0, description="epochs, or a part of one, in which both learning rates rise from 0")
    factor: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(0.3, description="plateau: what the learning rates are multiplied by")
    patience: PositiveInt = Field(2, description="plateau: evaluations in a row without a better one")
    lowest: Fraction = Field(0.001, description="the least share of the learning rates, but while they warm up")


class OptimizerSection(Section):
    rows: RowOptimizerSection = Field(default_factory=RowOptimizerSection)
    dense: DenseOptimizerSection = Field(default_factory=DenseOptimizerSection)
    schedule: ScheduleSection = Field(default_factory=ScheduleSection)


class RegularizerSection(Section):
    name: Literal["none", "n3"] = Field(
        "none", description="n3: sum of cubed moduli of an edge's source, relation and destination, for each side")
    weight: NonNegativeFloat = Field(0.0, description="factor of the regularizer beside the loss summed over edges")
    decay: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        1.0, description="below 1: what `weight` is multiplied by at a plateau of the schedule, and divided by at the next one; "
        "where neither makes evaluations better it is as before, and the learning rates are lowered")


class SamplingSection(Section):
    fanouts: tuple[Fanout, ...] | Auto = Field(
        "auto", description="neighbours drawn for a node, hop after hop, one for each layer: a number, or numbers by relation, "
        "{cites: 5, default: 2}, where `default` stands for relations not named, 0 if left out; -1: all; auto: 15, 10, 5, 5, ...")
    weighted: bool = Field(
        False, description="draw neighbours in proportion to the weights of their edges; one of weight 0 is only taken by -1")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="what draws neighbours; cuda: the GPU that trains, from pinned host memory, not by relation or "
        "weight; auto: whichever was faster in the first batches. The result is the same")


class TrainingSection(Section):
    epochs: PositiveInt = Field(10, description="passes over the training edges")
    batch_size: PositiveInt = Field(10000, description="edges per batch")
    seed: NonNegativeInt = Field(0, description="seed of all randomness of the run")
    staleness: NonNegativeInt = Field(
        0, description="batches in flight before an update must land; 0: synchronous and deterministic")
    precision: Literal["auto", "float32", "mixed"] = Field(
        "auto", description="of matrix products while training; mixed: inputs rounded to bfloat16 (CPU) or TF32 (GPU), summed in "
        "float32; auto: float32")
    threads: PositiveInt | Auto = Field("auto", description="CPU threads; auto: all that the process may use")
    early_stopping: NonNegativeInt = Field(
        0, description="stop after so many evaluations in a row without a better one; 0: never")
    metric: Metric = Field(
        "auto", description="figure of an evaluation by which the best checkpoint is chosen and training stops early; less is "
        "better of mean_rank and log_loss; auto: mrr, or of node classification accuracy, micro_f1 where a node may have several "
        "classes")


class StorageSection(Section):
    memory: Bytes | Auto = Field(
        "auto", description="bytes for slots, edges, batch and evaluation together (4GB); auto: half of what is free")
    capacity: PositiveInt | Auto = Field(
        "auto", description="partitions resident at a time; auto: of those that fit the memory, the one that reads least")
    ordering: Annotated[str, NameOf(ORDERINGS, before=("auto",), after=("node_classification",))] = Field(
        "auto", description="order of partitions; auto: comet, in_memory if all fit, or node_classification for that task")
    prefetch: bool = Field(True, description="load the next step's partitions while this step trains")
    window_edges: PositiveInt | Auto = Field(
        "auto", description="edges loaded and shuffled together; auto: all of a step, if a quarter of the memory holds them")
    row_dtype: Literal["float32"] = Field("float32", description="storage type of node rows")
    direct_io: bool = Field(True, description="bypass the page cache where the file system allows")
    io_threads: PositiveInt = Field(4, description="threads that read and write partitions")
    device_path: Literal["auto", "zero_copy", "staged", "bulk"] = Field(
        "auto", description="how a GPU reaches rows: its kernels read and write the pinned buffer; the CPU gathers and copies; "
        "whole partitions are copied; auto: measured at the start. The result is the same")
    device_memory: Bytes | Auto = Field("auto", description="bytes of GPU memory to use; auto: nine tenths of what is free")
    device_cache: BytesOrNone = Field(
        0, description="bytes of GPU memory for the rows that a step touches most, learned ones and features (not for bulk)")
    gather_sms: PositiveInt = Field(8, description="multiprocessors that zero_copy may occupy; the others stay with arithmetic")


class CheckpointSection(Section):
    every_epochs: PositiveInt = Field(1, description="epochs between checkpoints")
    every_minutes: PositiveFloat | None = Field(15.0, description="also after so many minutes, in mid-epoch; null: never")
    keep: PositiveInt = Field(2, description="newest checkpoints kept")
    keep_best: bool = Field(True, description="also keep the checkpoint of the best evaluation")


class EvaluationSection(Section):
    every_epochs: NonNegativeInt | Auto = Field(
        "auto", description="epochs between evaluations while training; 0: never; auto: so many that evaluations take about a "
        "tenth of the time")
    split: Literal["auto", "valid", "test", "train"] = Field(
        "auto", description="edges to rank while training; auto: valid, or no evaluation where the dataset has none")
    max_edges: PositiveInt | Auto = Field(
        "auto", description="a fixed seeded sample of so many edges; auto: 10000, or as many as a tenth of the time suffices for")
    candidates: PositiveInt | Literal["all"] = Field("all", description="nodes each edge is ranked among")
    filtered: bool = Field(True, description="leave other known edges out of the ranking")
    ties: Literal["realistic", "optimistic", "pessimistic"] = Field("realistic", description="rank among equal scores")


class Config(Section):
    task: Literal["link_prediction", "node_classification"] = Field("link_prediction", description="what is learned")
    model: ModelSection = Field(default_factory=ModelSection)
    init: InitSection = Field(default_factory=InitSection)
    loss: LossSection = Field(default_factory=LossSection)
    negatives: NegativesSection = Field(default_factory=NegativesSection)
    optimizer: OptimizerSection = Field(default_factory=OptimizerSection)
    regularizer: RegularizerSection = Field(default_factory=RegularizerSection)
    sampling: SamplingSection = Field(default_factory=SamplingSection)
    training: TrainingSection = Field(default_factory=TrainingSection)
    storage: StorageSection = Field(default_factory=StorageSection)
    checkpoint: CheckpointSection = Field(default_factory=CheckpointSection)
    evaluation: EvaluationSection = Field(default_factory=EvaluationSection)
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")] = Field("auto", description="cpu, cuda, cuda:N or auto")
