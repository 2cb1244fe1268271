"""Answers to questions, and classes of nodes, from what a run has trained."""
