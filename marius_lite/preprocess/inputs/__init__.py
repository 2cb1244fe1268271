"""Inputs of `preprocess` that are no files: results of queries, tables and arrays in memory. They are put on disk first."""
