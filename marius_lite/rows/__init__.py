"""Rows of the resident partitions, on the host or on a GPU: what batches begin with, and what they change."""
