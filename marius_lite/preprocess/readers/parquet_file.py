"""How a Parquet file of the user's is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def open_parquet(path: Path, **options: Any) -> pq.ParquetFile:
    """Open a file. A page that has a checksum is compared with it when it is read; many programs write none."""
    return pq.ParquetFile(path, page_checksum_verification=True, **options)
