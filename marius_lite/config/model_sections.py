"""Sections of the configuration that say what is learned: the model, its first values, the loss and what is drawn for it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from pydantic_core import PydanticCustomError

from marius_lite.config.decoders import DECODERS
from marius_lite.config.names import NameOf
from marius_lite.config.section import Auto, Fraction, Section
from marius_lite.config.tasks import NamesOfTasks


def _text_keys(value: object) -> object:
    """Return a mapping with its keys as text. YAML reads names of relations such as 7 as numbers."""
    return {str(key): number for key, number in value.items()} if isinstance(value, dict) else value


def _repeated(value: object) -> object:
    """Return the widths of ``{width: 128, count: 63}``: so many of them. Anything else stays as it is."""
    if not isinstance(value, dict):
        return value
    counted = WidthsSection.model_validate(value)
    return (counted.width,) * counted.count


def _distinct(codes: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(codes)) < len(codes):
        raise PydanticCustomError("not_distinct", "Input should be different whole numbers")
    return codes


class WidthsSection(Section):
    """Layers as wide as each other."""

    width: PositiveInt
    count: Annotated[int, Field(ge=1, le=10_000)]


DEFAULT = "default"
"""The key of a mapping of fanouts that stands for the relations it does not name."""
CodesOfColumn = Annotated[tuple[int, ...], Field(min_length=1), AfterValidator(_distinct)]
Count = Annotated[int, Field(ge=-1)]
Fanout = Count | Annotated[dict[str, Count], BeforeValidator(_text_keys), Field(min_length=1)]
PROPAGATING = ("sgc", "sign")
"""Encoders whose hops have no weights."""


class ModelSection(Section):
    """The encoder and the decoder."""

    encoder: Annotated[str, Field(pattern=r"^(none|sage|gcn|gat|rgcn|sgc|sign|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$")] = Field(
        "none",
        description="how a node's rows become its representation: sage, gcn, gat, rgcn, sgc, sign, or package.module:Class "
        "with PyTorch Geometric's forward(x, edge_index). sgc, sign: neighbours are summed model.hops times before anything is "
        "learned, and model.layers are of what is learned of the last sum (sgc), or of all side by side (sign), with "
        "training.method layerwise. none: the row is the embedding",
    )
    layers: Annotated[tuple[PositiveInt, ...], BeforeValidator(_repeated)] = Field(
        (),
        description="widths between an encoder's layers, [128, 128], or {width: 128, count: 2}. There is one layer more than "
        "widths; the last is as wide as there are classes, or model.dim",
    )
    reversible: NonNegativeInt = Field(
        0,
        description="groups of reversible couplings (RevGNN), which the layers between the first and the last become: their "
        "inputs are made again on the way back instead of kept, so that the memory does not grow with the layers. 2 or more, and "
        "they divide model.layers, which are all alike; with training.method cluster and model.norm layer; 0: none",
    )
    reversible_sums: Literal["float64", "float32"] = Field(
        "float64",
        description="what the groups of reversible couplings are summed in. float64: inputs are made again to the bits that they "
        "had, but for rare ones. float32: to rounding, which grows with the layers; takes less memory",
    )
    hops: Annotated[int, Field(ge=0, le=100)] = Field(
        2,
        description="how often nodes take from their neighbours before anything is learned (sgc, sign); 0: features alone count",
    )
    inputs: Literal["auto", "features", "embeddings", "both"] = Field(
        "auto",
        description="what an encoder gets for each node; auto: features where the dataset has them, else learned "
        "embeddings. Without an encoder: embeddings",
    )
    heads: PositiveInt = Field(1, description="attention heads of each layer but the last (gat)")
    gcn_norm: Literal["symmetric", "row", "mean"] = Field(
        "symmetric",
        description="how gcn, sgc and sign weigh neighbours. symmetric: by the roots of both ends' degrees in the whole graph, "
        "beside the node itself. row (gcn): the mean of a node and the neighbours that its layer sees, as in Cluster-GCN. mean "
        "(sgc, sign): the mean of the neighbours without the node: after some hops rows are those of nodes so many edges away, "
        "which sign sees apart from nearer ones",
    )
    diagonal: NonNegativeFloat = Field(
        0.0, description="how many times more gcn adds a node's own weighted row: Cluster-GCN's diagonal enhancement lambda"
    )
    directions: Literal["in", "out", "both"] = Field(
        "in",
        description="which neighbours a node takes from. in: those that edges come from; out: those that its own edges lead to; "
        "both: both, each edge counts at both ends. rgcn then has other weights for turned edges. Lists of turned edges are made "
        "of the edges whenever a partition is read: 12 bytes an edge instead of 4",
    )
    weight_unit: NonNegativeFloat | Auto = Field(
        "auto",
        description="the weight of an edge that counts as one neighbour (gcn, sage, sgc, sign): weights are divided by it, sage "
        "takes the mean of neighbours by them, and gcn also sums them where it counts edges, as for a node itself, which counts "
        "one. Weights below 0 count 0. 0: all edges count alike. auto: the mean weight, where edges have weights, a quarter of "
        "them or more above 0 if any are below, and classes of nodes are learned; else 0",
    )
    weight_bounds: tuple[float, ...] = Field(
        (),
        description="rgcn: edges are of another relation for each range of weights that these ascending numbers bound: with "
        "[3.5] those of 4 and 5 are apart from those of 1 to 3. Without a configuration, ranges are taken where linear models "
        "are clearly better by them",
    )
    degree_unit: NonNegativeFloat = Field(
        0.0,
        description="above 0: sage, gcn, gat and rgcn also see how many neighbours a node has, or what their weights count "
        "together, as log((1 + neighbours) / (1 + this)) beside its input; without it the means that they take say nothing about "
        "that. Without a configuration, `train` sets it to the mean number where linear models are clearly better so",
    )
    degrees_apart: bool = Field(
        False,
        description="where `model.directions` is both and `model.degree_unit` above 0: two numbers are seen, one for neighbours "
        "that edges come from and one for those that edges lead to. Without a configuration, `train` sets it with these",
    )
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
    input_dropout: Annotated[float, Field(ge=0.0, lt=1.0)] | Auto = Field(
        "auto",
        description="share of the numbers of an encoder's input that are set to zero while training classes of nodes. auto: as "
        "many as `model.dropout`, so that they are not learned by heart; none where the features of a node and of its neighbours "
        "of each hop are fewer columns than a tenth of the training nodes: a few are seen as they are",
    )
    normalize_features: bool | Literal["columns", "logs"] = Field(
        False,
        description="true: divide each node's features by the sum of their magnitudes, as for counts of words; columns: subtract "
        "each column's mean and divide by its standard deviation, both of a sample of the nodes, as for measurements; logs: the "
        "same, of the logarithms of columns with a few numbers that are far larger than others, as amounts of money have",
    )
    most_deviations: Annotated[float, Field(ge=0.0)] = Field(
        30.0,
        description="standard deviations at which the columns that normalize_features: columns and logs make are cut off: a "
        "number thousands of them away would be all that an encoder learns of a node and of its neighbours. 0: they are not",
    )
    codes: dict[NonNegativeInt, CodesOfColumn] = Field(
        {},
        description="columns of the features, from 0, whose whole numbers are codes of kinds, and their codes: {3: [0, 1, 2]}. "
        "An encoder also sees a 0 or 1 for each, because a code's size means nothing. Without a configuration, `train` sets it "
        "where linear models are clearly better so",
    )

    known_classes: bool = Field(
        False,
        description="an encoder also sees which training nodes are of which class, as a number for each class: who leaves often "
        "knows others who left. The classes of a batch's own nodes are hidden from it, so that none is told what it is asked. "
        "Training nodes see their own class when they are evaluated or exported. Without a configuration, `train` sets it where "
        "linear models are clearly better so",
    )

    @property
    def code_columns(self) -> int:
        """How many numbers of 0 or 1 a node has for codes."""
        return sum(map(len, self.codes.values()))

    @property
    def shown_degrees(self) -> int:
        """How many numbers tell an encoder how many neighbours a node has."""
        return 1 + self.degrees_apart if self.degree_unit > 0 else 0


class DrawSection(Section):
    """A distribution of first values."""

    kind: Literal["auto", "normal", "uniform"] = Field(
        "auto", description="distribution that first values are drawn from; auto: the choice of the decoder's authors"
    )
    scale: PositiveFloat | Auto = Field(
        "auto", description="standard deviation (normal) or bound (uniform); auto: the choice of the decoder's authors"
    )


MOST_FIRST_HOPS = 256
"""How many times rows are mixed at most. `train` tries no more either."""


class InitSection(Section):
    """The first values of node rows and relations."""

    nodes: DrawSection = Field(default_factory=DrawSection)
    relations: DrawSection = Field(default_factory=DrawSection)
    hops: Annotated[int, Field(ge=0, le=MOST_FIRST_HOPS)] | Auto = Field(
        "auto",
        description="how many times a node's first row, once drawn, becomes the mean of its neighbours' rows: so it says where "
        "the node is in the graph. 0: rows are as `init.nodes` draws them. auto: 8 where nodes are classified without features, "
        "else 0; without a configuration, or with `preset:gcn`, more where linear models are clearly better with them",
    )
    by_turns: bool = Field(
        False,
        description="whether these neighbours are those that edges come from and those that edges lead to by turns (of half of "
        "the numbers the other way round), whatever `model.directions` is: nodes begin alike then that are linked to alike "
        "nodes, though not to each other. Without a configuration, true where linear models are clearly better so",
    )


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
    first_epochs: NonNegativeInt | Auto = Field(
        0,
        description="the first epochs, in which edges are compared with first_count random nodes instead: such epochs are far "
        "shorter, and later ones go on from what they have learned. Evaluations are as much rarer in them, and count neither as "
        "a plateau nor for training.early_stopping. auto: 4, but a third of training.epochs at most; 0 where count is less than "
        "4 times first_count, or all that are resident are less than 20 times as many. A run --from another one has none",
    )
    first_count: PositiveInt = Field(500, description="negatives of a chunk in these epochs, for each side")
    chunks: PositiveInt = Field(10, description="parts of a batch; each has its own negatives; lanes share them (scale.ranks)")
    degree_fraction: Fraction = Field(0.0, description="share of the negatives that is taken from the batch's own nodes")
    log_q: bool = Field(
        False,
        description="subtract from each score the logarithm of how often its node is drawn, so that frequent nodes are "
        "not pushed down for being frequent (degree_fraction above 0)",
    )
    mask_known: bool = Field(False, description="leave out negatives that are true answers by another edge of the same batch")
    mask_self: bool = Field(
        False,
        description="leave out a node from the negatives of questions about itself, as `eval` does where there are hardly any "
        "self-loops. Else out of core, where it is always resident, it is drawn more often than others",
    )
    balance: bool | Auto = Field(
        "auto",
        description="out of core, the partition of a node that is asked about is always resident with it, but the edges inside "
        "it are trained once an epoch, as all others. So models learn that answers are seldom in it. true: correct scores by "
        "how often partitions meet (softmax; dot, distmult, complex). auto: where that is possible",
    )


def drawn_by_degree(count: int, degree_fraction: float) -> int:
    """Return how many of ``count`` negatives are taken from the batch's own nodes."""
    return round(count * degree_fraction)


class SamplingSection(Section):
    """How an encoder draws neighbours."""

    fanouts: tuple[Fanout, ...] | Auto = Field(
        "auto",
        description="neighbours drawn for a node, hop after hop, one entry for each layer. An entry is a number, or "
        "numbers by relation, {cites: 5, default: 2}; `default` is for relations that are not named, 0 if left out. -1: all "
        "neighbours. auto: 15, 10, 5, 5, ...",
    )
    scope: Literal["auto", "resident", "exact"] = Field(
        "auto",
        description="the neighbours that are drawn where not all partitions are resident. resident: those in resident "
        "partitions. exact: any, so that a run has the bits of one in memory; on the CPU. Features come from disk "
        "in the order of batches then; learned rows come for as many batches as the memory has room for their rows, in one pass "
        "over all rows. auto: for classes of nodes exact where it fits the memory; for links resident, because all edges are "
        "trained, whose neighbours' rows are many times those of the table",
    )
    lists: Literal["auto", "memory", "disk"] = Field(
        "auto",
        description="where the in-edge lists of all nodes are, where scope is exact. memory: they take 4 bytes an edge and 12 a "
        "node, and 4 more an edge for relations, and for weights. disk: two partitions' are in memory at a time, and several "
        "batches are sampled together, in one pass over all lists for each hop. auto: memory where they fit. The result is the "
        "same",
    )
    refresh_epochs: PositiveInt = Field(
        1,
        description="epochs that train the same batches and neighbours before both are drawn anew. Above 1, rows that come from "
        "disk are put in order once for all of them, as far as storage.packs_disk holds them",
    )
    edge_dropout: Annotated[float, Field(ge=0.0, lt=1.0)] | Auto = Field(
        "auto",
        description="share of a batch's sampled edges that are left out, others each time that it is trained (on the CPU). "
        "auto: 0, or 0.3 where samples serve several epochs, which an encoder else learns by heart",
    )
    weighted: bool = Field(
        False, description="draw neighbours in proportion to the weights of their edges; only -1 takes edges of weight 0"
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto",
        description="what draws neighbours; cuda: the GPU that trains, from lists in its memory or in pinned host memory, but "
        "not by relation or weight; auto: whichever is faster in the first batches. The result is the same",
    )
