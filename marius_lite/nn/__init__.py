"""Models: decoders, losses, scoring."""
