"""Which partition each node is in."""
