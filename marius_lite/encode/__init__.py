"""From rows to vectors: neighbourhoods around a batch's nodes, an encoder over them, and the vectors of all nodes."""
