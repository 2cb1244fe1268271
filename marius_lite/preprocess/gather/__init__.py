"""The pass over the input files, and what it says of them."""
