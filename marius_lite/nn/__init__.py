"""Models: encoders, decoders, losses, and how edges are scored."""
