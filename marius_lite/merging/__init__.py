"""Merge what several workers have trained: how vectors are written (coding.py), and what is made of them (merge.py)."""
