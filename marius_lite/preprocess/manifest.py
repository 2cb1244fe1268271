"""The manifest of a dataset that was made from files."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from marius_lite.graph.ids import IdKind
from marius_lite.graph.manifest import LabelShape, Manifest, training_partitions
from marius_lite.preprocess.disk.place import checksums
from marius_lite.preprocess.disk.site import Site
from marius_lite.preprocess.edges.buckets import Tally
from marius_lite.preprocess.gather.gather import Gathered
from marius_lite.preprocess.nodes.node_data import NodeData
from marius_lite.preprocess.nodes.numbered import NumberedNodes
from marius_lite.preprocess.nodes.tables import Tables
from marius_lite.preprocess.options import SPLITS


@dataclass(frozen=True)
class PassResults:
    """What the passes return. ``relations``: raw ids of relations in the order of their ids, of kind ``relation_kind``."""

    gathered: Gathered
    numbered: NumberedNodes
    relation_kind: IdKind
    relations: pa.Array
    tables: Tables
    tally: Tally


def make_manifest(site: Site, data: NodeData | None, results: PassResults) -> Manifest:
    """Return the sealed manifest. Reads the files whose checksums no pass knows."""
    options, numbered, partitioning = site.options, results.numbered, results.numbered.partitioning
    counts, sources = numbered.labels.counts if numbered.labels else None, results.gathered.seen.sources
    sources = sources + [source for source in results.tables.sources if source not in sources]
    return Manifest(
        nodes=partitioning.nodes,
        relations=len(results.relations),
        partitions=partitioning.partitions,
        edges={name: int(results.tally.bucket_counts[SPLITS.index(name)].sum()) for name in options.splits},
        rows_per_partition=partitioning.rows,
        seed=options.seed,
        ids=numbered.numbering.raw_ids.kind,
        relation_ids=results.relation_kind,
        options=options.recorded(),
        features=data.shape if data else None,
        labels=LabelShape(classes=data.classes) if data and data.classes else None,
        class_names=tuple(data.labels.names) if data and data.labels and data.labels.names else None,
        multi_label=True if data and data.labels and data.labels.table else None,
        node_split=counts,
        training_partitions=training_partitions(counts, options.training_partitions, partitioning),
        node_types=tuple(numbered.types.names) if numbered.types else None,
        adjacency=None if options.adjacency == "none" else (options.adjacency,),
        edge_columns=results.gathered.shape.carried or None,
        self_loops=int(results.tally.totals[1][0]),
        sources=sorted(sources, key=lambda s: (s.name, s.size, s.crc32c)),
        files=checksums(site.root, site.passes.files),
    ).sealed()
