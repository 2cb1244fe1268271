"""Databases whose query results `preprocess` reads, as streams of record batches from one snapshot."""
