"""Readers: each turns one input file into a stream of `RawEdges`."""
