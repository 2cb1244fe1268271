"""The schema of the configuration: every key, for YAML files, ``--set`` and the Python API.

``auto`` is a value like any other here. `config.resolve` replaces it, for one dataset and one machine.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from marius_lite.config.model_sections import (
    PROPAGATING,
    InitSection,
    LossSection,
    ModelSection,
    NegativesSection,
    SamplingSection,
)
from marius_lite.config.names import NameOf
from marius_lite.config.optimizer_sections import OptimizerSection, RegularizerSection
from marius_lite.config.section import Auto, Bytes, BytesOrNone, Fraction, Section
from marius_lite.config.tasks import TASKS, NamesOfTasks
from marius_lite.ordering.lanes import LANE_ORDERINGS
from marius_lite.ordering.plan import NODE_ORDERINGS, ORDERINGS


class TrainingSection(Section):
    """How long and how a run trains."""

    epochs: PositiveInt = Field(10, description="passes over the training edges")
    method: Literal["sampled", "layerwise", "cluster"] = Field(
        "sampled",
        description="how an encoder is trained. sampled: all layers together, over sampled neighbourhoods. layerwise: one layer "
        "after another, over what all nodes take from all their neighbours once, whatever sampling.fanouts says; the memory does "
        "not grow with the neighbourhoods (classification of nodes by features, with sage or gcn; sgc and sign have one such "
        "layer). Schedules and plateaus begin anew for each layer; early_stopping and the best checkpoint are those of the last. "
        "cluster: a batch is all training nodes of storage.capacity random partitions, with all edges among these, whatever "
        "batch_size and sampling.fanouts say "
        "(classification of nodes by features; preprocess with --partitioner locality --training-partitions all)",
    )
    layer_epochs: PositiveInt | Auto = Field(
        "auto", description="layerwise: epochs of each layer but the last, which has the others; auto: epochs / layers"
    )
    batch_size: PositiveInt = Field(
        10000, description="edges, or nodes in node classification, in a batch, which lanes share (scale.ranks)"
    )
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
        description="precision of matrix products while training; mixed: inputs rounded to bfloat16 (a CPU that has "
        "instructions for it) or TF32 (GPU), summed in float32; auto: float32",
    )
    scoring: Literal["auto", "torch", "amx", "avx512_bf16", "avx512", "avx2", "vectors"] = Field(
        "auto",
        description="how a CPU computes the losses of inner products, and their gradients: in native code for the "
        "instructions named (amx and avx512_bf16 round, for precision mixed; the others do not; vectors: any processor), or by "
        "torch. auto: by measurement on this processor; a resumed run takes the same. All else is computed by torch",
    )
    products: Literal["auto", "onednn", "mkl"] = Field(
        "auto",
        description="library that multiplies float32 matrices where torch computes on a CPU; auto: oneDNN, unless MKL is a "
        "quarter faster on this processor, by measurement; a resumed run takes the same",
    )
    threads: PositiveInt | Auto = Field(
        "auto", description="CPU threads, of each lane; auto: all that the process may use, shared among scale.ranks"
    )
    device_graphs: bool = Field(
        True,
        description="launch the work of a batch on a GPU by one call, as a CUDA graph, where batches are alike; the bits are the "
        "same without",
    )
    freeze: Literal["none", "old", "relations", "both"] = Field(
        "none",
        description="what stays as it is, bit for bit, in a run that goes on from another (train --from): old: rows of the nodes "
        "that it knew; relations: weights of the relations that it knew; on the CPU alone",
    )
    replay: Fraction = Field(
        1.0,
        description="share of the edges that the run's own dataset had, see train --from, which each epoch trains beside the new "
        "ones; drawn anew for each epoch (link prediction)",
    )
    weight_power: float | Auto = Field(
        "auto",
        description="how often an epoch trains an edge, where edges have weights: in proportion to this power of the weight, at "
        "most ten times the mean. 1: in proportion to the weight itself; 0: all alike; below 0: weights are distances, and links "
        "of near nodes count most. There are 1, 0.5, 0.25 and their negatives. Weights below 0 count 0. An epoch has as many "
        "edges as without. auto: the power by which walks over training links surely find left out links better, or 0 (link "
        "prediction)",
    )
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
        "auto",
        description="bytes for slots, edges, batch and evaluation together (4GB), for each lane where "
        "scale.ranks is above 1; auto: half of what is free",
    )
    capacity: PositiveInt | Auto = Field(
        "auto",
        description="partitions resident at a time; auto: of those that fit the memory, the one that reads least. "
        "With training.method cluster: partitions of a batch; auto: a 64th of all, or fewer, as memory allows",
    )
    ordering: Annotated[str, NameOf(ORDERINGS, before=("auto",), after=(*NODE_ORDERINGS, *LANE_ORDERINGS))] = Field(
        "auto",
        description="order of partitions; auto: in_memory if all fit, else comet; node_classification for that task, clusters "
        "for training.method cluster, lanes_by_edges where scale.ranks is above 1",
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
    packs_disk: Bytes | Auto = Field(
        "auto",
        description="bytes of temporary disk for rows in the order of batches (sampling.scope exact); auto: three times the "
        "features, and with sampling.refresh_epochs above 1 what the batches of an epoch may take, which are kept. Less keeps "
        "fewer of them. With learned rows: for samples of batches; auto: twice the rows in memory, or 128 MiB",
    )
    cache: Bytes | Auto = Field(
        "auto",
        description="bytes, on this machine, for the files of datasets that are fetched from object storage; auto: as much as "
        "the disk has. Datasets that nobody uses are removed to keep to it",
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


class ScaleSection(Section):
    """How many trainings of disjoint partitions there are at the same time."""

    ranks: PositiveInt = Field(
        1,
        description="lanes that train at the same time on the CPU; one process may train all of them, or several processes some "
        "each, with the same result. Lanes share a batch: each trains a part of it, and its chunks, then weights change by the "
        "sum of what all learned. In link prediction each lane has its own partitions, memory and threads; in node "
        "classification by features each process has",
    )
    relations_every: PositiveInt = Field(
        1,
        description="batches of each lane between two steps of the relations, which then take the sum of what all lanes learned "
        "from all of them. With more, processes meet less often, and relations make fewer steps: the result changes. Link "
        "prediction without an encoder",
    )
    mode: Literal["lanes", "adaptive"] = Field(
        "lanes",
        description="how ranks train together. lanes: in step, with the same bits in any number of processes. adaptive: each is "
        "a process that has its own copy of the weights, takes the next batch of an epoch when it is free, and merges with the "
        "others now and then. Batches become larger for who is faster, and the learning rate in proportion: for processors that "
        "are not equally fast. Not deterministic (classification of nodes by features, which are in memory)",
    )
    merge: Literal["all", "ring"] = Field(
        "all",
        description="adaptive: who merges. all: the weights become the mean of all, in proportion to the nodes that each has "
        "trained. ring: each takes the mean of its own and those of the two beside it, and all merge at the end of an epoch and "
        "before a checkpoint",
    )
    merge_batches: PositiveInt = Field(20, description="adaptive: batches that each trains between two merges, about")
    merge_momentum: Annotated[float, Field(ge=0.0, lt=1.0)] = Field(
        0.0, description="adaptive: part of the weights' change by the merge before that is added to a merge"
    )
    merge_bits: Literal[32, 8, 4] = Field(
        32,
        description="bits of a number that ranks tell each other: of changed weights (adaptive), or of gradients (lanes). Below "
        "32 it is rounded by seeded chance, without bias, beside a scale for each row. The result changes; that of lanes is "
        "still the same in any number of processes",
    )

    @property
    def lanes(self) -> int:
        """Lanes of an epoch's plan. Where who is free takes a batch there is one, for all."""
        return 1 if self.mode == "adaptive" else self.ranks


class CheckpointSection(Section):
    """When checkpoints are saved, and how many are kept."""

    every_epochs: PositiveInt = Field(
        1, description="epochs between checkpoints; with keep_best each epoch that is evaluated has one too"
    )
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
    calibrated: bool = Field(
        True,
        description="fit on the validation nodes how probable classes are, and, where a node may have several, which it is "
        "given; false: as the model says, and those with a score of 0 or more",
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
    scale: ScaleSection = Field(default_factory=ScaleSection)
    checkpoint: CheckpointSection = Field(default_factory=CheckpointSection)
    evaluation: EvaluationSection = Field(default_factory=EvaluationSection)
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda(:\d+)?)$")] = Field(
        "auto",
        description="cpu, cuda, cuda:N or auto: a GPU where there is one, once this code has run on some GPU (`info` says), "
        "else the CPU",
    )

    @property
    def encodes(self) -> bool:
        """Whether an encoder makes vectors from rows. Without one, the rows are the vectors."""
        return self.model.encoder != "none"

    @property
    def trains_layerwise(self) -> bool:
        """Whether the layers of an encoder are trained one after another (`config.layerwise`)."""
        return self.training.method == "layerwise"

    @property
    def trains_clusters(self) -> bool:
        """Whether a batch is a group of partitions, with the edges among them (`config.clusters`)."""
        return self.training.method == "cluster"

    @property
    def asks_for_degrees(self) -> bool:
        """Whether the encoder may ask how many neighbours nodes have in the whole graph."""
        model = self.model
        sums = model.encoder == "gcn" or (self.propagates and model.gcn_norm == "symmetric" and model.hops > 0)
        return sums or model.degree_unit > 0 or ":" in model.encoder

    @property
    def propagates(self) -> bool:
        """Whether the hops of the encoder have no weights."""
        return self.model.encoder in PROPAGATING

    @property
    def convolutions(self) -> int:
        """How many convolutions of an encoder follow one another: how many hops its vectors reach."""
        if self.propagates:
            return max(self.model.hops, 1)
        layers, groups = len(self.model.layers), self.model.reversible
        return 2 + groups * (layers - 1) if groups else layers + 1

    @property
    def learns_rows(self) -> bool:
        """Whether nodes have learned rows. The configuration must be resolved."""
        return self.model.inputs != "features"

    @property
    def lane_batch(self) -> int:
        """Edges or nodes of a lane's batch: its share of `training.batch_size`."""
        return -(-self.training.batch_size // self.scale.lanes)

    @property
    def adapts(self) -> bool:
        """Whether workers take batches as they are free, with weights of their own."""
        return self.scale.mode == "adaptive"

    @property
    def lanes_see_all(self) -> bool:
        """Whether several lanes or workers train on rows that are only read: each sees all."""
        return self.scale.ranks > 1 and self.task == "node_classification"

    @property
    def first_epochs(self) -> int:
        """How many epochs compare edges with `negatives.first_count` nodes; 0 before that is resolved."""
        first = self.negatives.first_epochs
        return 0 if first == "auto" else first

    @property
    def lane_chunks(self) -> int:
        """Chunks of a lane's batch: its share of `negatives.chunks`, so that a chunk has as many edges as with one lane."""
        return max(1, self.negatives.chunks // self.scale.ranks)

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
