"""Optimizers of node rows (rows.py) and of dense parameters (dense.py)."""
