"""Read datasets on disk: manifest, partitions, raw ids, edges by bucket, in-edges by node, features, labels."""

from marius_lite.graph.adjacency import Adjacency, PartitionLists
from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.manifest import Manifest
from marius_lite.graph.partitioning import Partitioning

__all__ = ["Adjacency", "Dataset", "EdgeBuckets", "Manifest", "PartitionLists", "Partitioning"]
