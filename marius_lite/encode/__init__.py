"""Make vectors of rows: sample the neighbourhoods of a batch's nodes, run an encoder over them, or over the whole graph."""
