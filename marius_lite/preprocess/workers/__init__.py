"""The passes `read` and `sort` by several workers, each of which takes shards of the input."""
