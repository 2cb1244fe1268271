"""Raw edge lists to a partitioned dataset on disk."""

from marius_lite.preprocess.build import preprocess
from marius_lite.preprocess.make import make_dataset
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.repartition import repartition_dataset

__all__ = ["Options", "make_dataset", "preprocess", "repartition_dataset"]
