"""Train graph embeddings larger than memory, on one machine."""

__version__ = "0.1.0"
