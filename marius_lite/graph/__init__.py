"""Datasets on disk: manifest, partitions, raw ids, edges by bucket, features, labels."""

from marius_lite.graph.dataset import Dataset
from marius_lite.graph.edges import EdgeBuckets
from marius_lite.graph.manifest import Manifest
from marius_lite.graph.partitioning import Partitioning

__all__ = ["Dataset", "EdgeBuckets", "Manifest", "Partitioning"]
