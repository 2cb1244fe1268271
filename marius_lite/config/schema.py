"""The schema of the configuration: every key, for YAML files, ``--set`` and the Python API.

``auto`` is a value like any other here. `config.resolve` replaces it, for one dataset and one machine.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from marius_lite._native import ROW_OPTIMIZERS
from marius_lite.config.decoders import DECODERS
from marius_lite.config.names import NameOf
from marius_lite.config.tasks import TASKS, NamesOfTasks
from marius_lite.files import parse_bytes
from marius_lite.ordering.plan import ORDERINGS

Auto = Literal["auto"]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)]
BytesOrNone = Annotated[int, BeforeValidator(parse_bytes), Field(ge=0)]


def _text_keys(value: object) -> object:
    """Return a mapping with its keys as text. YAML reads names of relations such as 7 as numbers."""
    return {str(key): number for key, number in value.items()} if isinstance(value, dict) else value


DEFAULT = "default"
"""The key of a mapping of fanouts that stands for the relations it does not name."""
Count = Annotated[int, Field(ge=-1)]
Fanout = Count | Annotated[dict[str, Count], BeforeValidator(_text_keys), Field(min_length=1)]


class Section(BaseModel):
    """The base of all sections. Unknown keys are refused, and values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)


class ModelSection(Section):
    """The encoder and the decoder."""

    encoder: Annotated[str, Field(pattern=r"^(none|sage|gcn|gat|rgcn|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$")] = Field(
        "none",
        description="how a node's rows become its representation: sage, gcn, gat, rgcn, or package.module:Class with "
        "PyTorch Geometric's forward(x, edge_index); none: the row is the embedding",
    )
    layers: tuple[PositiveInt, ...] = Field(
        (),
        description="widths between an encoder's layers. There is one layer more than widths; the last is as wide as there "
        "are classes, or model.dim",
    )
    inputs: Literal["auto", "features", "embeddings", "both"] = Field(
        "auto",
        description="what an encoder gets for each node; auto: features where the dataset has them, else learned "
        "embeddings. Without an encoder: embeddings",
    )
    heads: PositiveInt = Field(1, description="attention heads of each layer but the last (gat)")
    norm: Literal["none", "layer", "batch"] = Field("none", description="normalisation between an encoder's layers")
    residual: bool = Field(False, description="add a layer's input to its output; it is projected where the widths differ")
    decoder: Annotated[str, NameOf(DECODERS)] = Field(
        "complex", description="how an edge is scored from its source, relation and destination; transe: L2 distance"
    )
    dim: PositiveInt = Field(100, description="numbers stored for each node (complex, rotate: two for each complex number)")
    reciprocal: bool = Field(True, description="learn a second row for each relation, for the inverse direction")
    biases: bool = Field(
        False,
        description="whether the last two of a node's numbers are its biases: how often it is a destination and a source at all. "
        "They begin with the training edges' counts. A score is the decoder's plus 10 times the candidate's bias (dot, "
        "distmult, complex). Only learned rows have them: with an encoder this changes nothing",
    )
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(
        0.0,
        description="share of the numbers that are set to zero while training, in gathered rows and between an encoder's layers",
    )
    normalize_features: bool = Field(False, description="divide each node's features by the sum of their magnitudes")


class DrawSection(Section):
    """A distribution of first values."""

    kind: Literal["auto", "normal", "uniform"] = Field(
        "auto", description="distribution that first values are drawn from; auto: the choice of the decoder's authors"
    )
    scale: PositiveFloat | Auto = Field(
        "auto", description="standard deviation (normal) or bound (uniform); auto: the choice of the decoder's authors"
    )


class InitSection(Section):
    """The first values of node rows and relations."""

    nodes: DrawSection = Field(default_factory=DrawSection)
    relations: DrawSection = Field(default_factory=DrawSection)


class LossSection(Section):
    """What is minimised."""

    name: Annotated[str, NameOf(NamesOfTasks("losses"), before=("auto",))] = Field(
        "auto",
        description="loss. For links: softmax, logistic or margin, over a positive and its negatives. For classes: "
        "cross_entropy, or binary_cross_entropy where a node may have several. auto: softmax, or the one that fits the labels",
    )
    margin: PositiveFloat = Field(1.0, description="margin of the margin loss")
    offset: NonNegativeFloat = Field(
        0.0, description="logistic: added to every score, for decoders whose scores are negated distances (transe, rotate)"
    )
    adversarial_temperature: NonNegativeFloat = Field(
        0.0, description="logistic: weight negatives by softmax(temperature * score); 0: all alike"
    )
    relation_weight: NonNegativeFloat = Field(
        0.0, description="weight of a second loss, which predicts an edge's relation from its ends (distmult, complex, transe)"
    )
    class_weights: Literal["none", "balanced"] | tuple[PositiveFloat, ...] = Field(
        "none",
        description="factors of the loss, one for each class, in order. cross_entropy: for nodes of the class; balanced: "
        "training nodes / (classes * training nodes of the class). binary_cross_entropy: for nodes that have the class; "
        "balanced: training nodes without the class / training nodes with it",
    )


class NegativesSection(Section):
    """The negatives of link prediction."""

    count: PositiveInt | Literal["all"] = Field(
        1000,
        description="negatives that the edges of a chunk share, for each side; all: every resident node, for all edges and "
        "both sides",
    )
    chunks: PositiveInt = Field(10, description="parts of a batch; each has its own negatives")
    degree_fraction: Fraction = Field(0.0, description="share of the negatives that is taken from the batch's own nodes")
    log_q: bool = Field(
        False,
        description="subtract from each score the logarithm of how often its node is drawn, so that frequent nodes are "
        "not pushed down for being frequent (degree_fraction above 0)",
    )
    mask_known: bool = Field(False, description="leave out negatives that are true answers by another edge of the same batch")


class RowOptimizerSection(Section):
    """The optimizer of node rows."""

    name: Annotated[str, NameOf(ROW_OPTIMIZERS)] = Field("row_adagrad", description="update rule of node rows")
    lr: PositiveFloat = Field(0.1, le=1e30, description="learning rate of node rows")
    clip: NonNegativeFloat = Field(0.0, description="largest norm of a row's gradient; a larger one is scaled down; 0: no limit")


class DenseOptimizerSection(Section):
    """The optimizer of relations and dense weights."""

    name: Literal["adagrad", "adam", "sgd"] = Field("adagrad", description="update rule of relations and dense weights")
    lr: PositiveFloat = Field(0.1, le=1e30, description="learning rate of relations and dense weights")
    clip: NonNegativeFloat = Field(
        0.0, description="largest norm of all these gradients together; a larger one is scaled down; 0: no limit"
    )
    weight_decay: NonNegativeFloat | tuple[NonNegativeFloat, ...] = Field(
        0.0,
        description="factor of the weights that is added to their gradient; one number, or one for each of an encoder's layers",
    )


class ScheduleSection(Section):
    """How the learning rates change while a run trains."""

    name: Literal["constant", "linear", "cosine", "plateau"] = Field(
        "constant",
        description="how both learning rates change, from window to window of edges. linear, cosine: to 0 at the "
        "last epoch's end. plateau: times `factor` after `patience` evaluations in a row without a better one",
    )
    warmup: NonNegativeFloat = Field(0.0, description="epochs, or a part of one, in which both learning rates rise from 0")
    factor: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(0.3, description="plateau: factor of the learning rates")
    patience: PositiveInt = Field(2, description="plateau: evaluations in a row without a better one")
    lowest: Fraction = Field(0.001, description="smallest share of the learning rates that is left; the warmup may go below it")


class OptimizerSection(Section):
    """Both optimizers, and their schedule."""

    rows: RowOptimizerSection = Field(default_factory=RowOptimizerSection)
    dense: DenseOptimizerSection = Field(default_factory=DenseOptimizerSection)
    schedule: ScheduleSection = Field(default_factory=ScheduleSection)


class RegularizerSection(Section):
    """What is added to the loss to keep rows small."""

    name: Literal["none", "n3"] = Field(
        "none", description="n3: sum of the cubed moduli of an edge's source, relation and destination, for each side"
    )
    weight: NonNegativeFloat = Field(0.0, description="factor of the regularizer, beside the loss summed over edges")
    decay: Annotated[float, Field(gt=0.0, le=1.0)] = Field(
        1.0,
        description="below 1: at a plateau of the schedule `weight` is multiplied by this, at the next one divided by it. "
        "If neither makes evaluations better, `weight` goes back to what it was and the learning rates are lowered",
    )


class SamplingSection(Section):
    """How an encoder draws neighbours."""

    fanouts: tuple[Fanout, ...] | Auto = Field(
        "auto",
        description="neighbours drawn for a node, hop after hop, one entry for each layer. An entry is a number, or "
        "numbers by relation, {cites: 5, default: 2}; `default` is for relations that are not named, 0 if left out. -1: all "
        "neighbours. auto: 15, 10, 5, 5, ...",
    )
    weighted: bool = Field(
        False, description="draw neighbours in proportion to the weights of their edges; only -1 takes edges of weight 0"
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="what draws neighbours; cuda: the GPU that trains, from pinned host memory, but not by relation or "
        "weight; auto: whichever is faster in the first batches. The result is the same",
    )


class TrainingSection(Section):
    """How long and how a run trains."""

    epochs: PositiveInt = Field(10, description="passes over the training edges")
    batch_size: PositiveInt = Field(10000, description="edges in a batch; nodes in node classification")
    even_batches: bool = Field(
        True,
        description="cut the edges of a step into batches of one size, the nearest to batch_size (at most 1.5 times it), so that "
        "none is small; false: batches of batch_size, and a last one of what is left",
    )
    seed: NonNegativeInt = Field(0, description="seed of all randomness of the run")
    staleness: NonNegativeInt = Field(
        0, description="batches that may be in flight before an update must land; 0: synchronous and deterministic"
    )
    precision: Literal["auto", "float32", "mixed"] = Field(
        "auto",
        description="precision of matrix products while training; mixed: inputs rounded to bfloat16 (CPU) or TF32 (GPU), "
        "summed in float32; auto: float32",
    )
    scoring: Literal["auto", "torch", "amx", "avx512_bf16", "avx512", "avx2", "vectors"] = Field(
        "auto",
        description="how a CPU computes the losses of inner products, and their gradients: in native code for the "
        "instructions named (amx, which has softmax alone, and avx512_bf16 for precision mixed, the others for float32; vectors: "
        "any processor), or by torch. auto: by measurement on this processor; a resumed run takes the same. All else is computed "
        "by torch",
    )
    products: Literal["auto", "onednn", "mkl"] = Field(
        "auto",
        description="library that multiplies float32 matrices where torch computes on a CPU; auto: oneDNN, unless MKL is a "
        "quarter faster on this processor, by measurement; a resumed run takes the same",
    )
    threads: PositiveInt | Auto = Field("auto", description="CPU threads; auto: all that the process may use")
    early_stopping: NonNegativeInt = Field(
        0, description="stop after this many evaluations in a row without a better one; 0: never"
    )
    metric: Annotated[str, NameOf(NamesOfTasks("metrics"), before=("auto",))] = Field(
        "auto",
        description="figure that chooses the best checkpoint and decides when to stop early. Less is better for "
        "mean_rank and log_loss. auto: mrr; for classes accuracy, or micro_f1 where a node may have several",
    )


class StorageSection(Section):
    """What is in memory, and how rows are read and written."""

    memory: Bytes | Auto = Field(
        "auto", description="bytes for slots, edges, batch and evaluation together (4GB); auto: half of what is free"
    )
    capacity: PositiveInt | Auto = Field(
        "auto", description="partitions resident at a time; auto: of those that fit the memory, the one that reads least"
    )
    ordering: Annotated[str, NameOf(ORDERINGS, before=("auto",), after=("node_classification",))] = Field(
        "auto", description="order of partitions; auto: in_memory if all fit, else comet; node_classification for that task"
    )
    prefetch: bool = Field(True, description="load the next step's partitions while this step trains")
    window_edges: PositiveInt | Auto = Field(
        "auto", description="edges loaded and shuffled together; auto: all of a step, if a quarter of the memory holds them"
    )
    row_dtype: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="how learned rows and their optimizer state are kept, in the buffer and on disk. bfloat16: half the memory "
        "and half the I/O, rounded by seeded chance, so that small updates count in the mean; on the CPU alone",
    )
    direct_io: bool = Field(True, description="bypass the page cache where the file system allows")
    io_threads: PositiveInt = Field(4, description="threads that read and write partitions")
    device_path: Literal["auto", "zero_copy", "staged", "bulk"] = Field(
        "auto",
        description="how a GPU reaches rows. zero_copy: its kernels read and write the pinned buffer. staged: the CPU "
        "gathers and copies. bulk: whole partitions are copied. auto: measured at the start. The result is the same",
    )
    device_memory: Bytes | Auto = Field("auto", description="bytes of GPU memory to use; auto: nine tenths of what is free")
    device_cache: BytesOrNone = Field(
        0, description="bytes of GPU memory for the rows that a step touches most, learned ones and features (not for bulk)"
    )
    gather_sms: PositiveInt = Field(8, description="multiprocessors that zero_copy may occupy; the others do arithmetic")


class CheckpointSection(Section):
    """When checkpoints are saved, and how many are kept."""

    every_epochs: PositiveInt = Field(1, description="epochs between checkpoints")
    every_minutes: PositiveFloat | None = Field(15.0, description="also save after this many minutes, in mid-epoch; null: never")
    keep: PositiveInt = Field(2, description="number of newest checkpoints that are kept")
    keep_best: bool = Field(True, description="also keep the checkpoint of the best evaluation")


class EvaluationSection(Section):
    """How a run is evaluated while it trains."""

    every_epochs: NonNegativeInt | Auto = Field(
        "auto",
        description="epochs between evaluations while training; 0: never; auto: so many that evaluations take about a "
        "tenth of the time",
    )
    split: Literal["auto", "valid", "test", "train"] = Field(
        "auto", description="edges to rank while training; auto: valid, or no evaluation where the dataset has none"
    )
    max_edges: PositiveInt | Auto = Field(
        "auto",
        description="size of a fixed seeded sample of the edges to rank; auto: 10000, or fewer, so that evaluations take "
        "about a tenth of the time",
    )
    candidates: PositiveInt | Literal["all"] = Field("all", description="nodes that each edge is ranked among")
    filtered: bool = Field(True, description="leave other known edges out of the ranking")
    ties: Literal["realistic", "optimistic", "pessimistic"] = Field(
        "realistic", description="rank among equal scores: realistic is the mean of the other two"
    )


class Config(Section):
    """The whole configuration of a run."""

    task: Annotated[str, NameOf(TASKS)] = Field("link_prediction", description="what the run learns")
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

    @property
    def encodes(self) -> bool:
        """Whether an encoder makes vectors from rows. Without one, the rows are the vectors."""
        return self.model.encoder != "none"

    @property
    def learns_rows(self) -> bool:
        """Whether nodes have learned rows. The configuration must be resolved."""
        return self.model.inputs != "features"

    @property
    def has_biases(self) -> bool:
        """Whether nodes' biases are the last numbers of their learned rows."""
        return self.model.biases and self.model.encoder == "none"

    @property
    def learned_width(self) -> int:
        """Numbers of a node that are learned; 0 where none are. Of a resolved configuration."""
        return self.model.dim if self.learns_rows else 0

    @property
    def reads_features(self) -> bool:
        """Whether a model begins with the nodes' features. The configuration must be resolved."""
        return self.model.inputs != "embeddings"
