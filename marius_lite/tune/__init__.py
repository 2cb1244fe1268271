"""Search for settings: many trials on a part of the graph for few epochs, fewer on more of it, the best on all of it."""
