"""The pass over the input files, and the facts and warnings that come of it."""
