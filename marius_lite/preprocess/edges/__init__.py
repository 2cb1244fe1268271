"""Stored edges: sorted, written by bucket, counted, listed by their destination."""
