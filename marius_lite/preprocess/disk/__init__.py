"""What passes keep on disk: records, keys, spools, and the record of finished passes."""
