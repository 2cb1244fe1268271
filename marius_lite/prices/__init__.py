"""What the ways to train a graph neural network cost: bytes, memory, disk, and seconds from a short calibration."""
