"""Raw ids to keys, keys to ids, and the last order of ids."""
