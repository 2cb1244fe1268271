"""What is known of nodes beside their edges: features, labels, splits, types."""
