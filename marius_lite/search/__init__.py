"""Search over what a run has trained: an index of the nodes' vectors, nearest nodes, best answers to questions."""
