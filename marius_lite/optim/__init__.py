"""Optimizers of node rows (rows/) and of dense parameters (dense.py)."""
