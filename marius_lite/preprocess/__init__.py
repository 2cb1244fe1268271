"""Raw edge lists to a partitioned dataset on disk."""

from marius_lite.preprocess.build import make_dataset, preprocess
from marius_lite.preprocess.options import Options

__all__ = ["Options", "make_dataset", "preprocess"]
