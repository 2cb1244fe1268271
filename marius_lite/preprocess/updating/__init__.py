"""What `update` is made of: its options, its passes over nodes and edges, its report."""
