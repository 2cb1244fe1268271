"""What passes leave on disk: records, columns, spools, and which passes are finished."""
