"""The formats of edge files: the name for --format, and where the description stands (see `readers.format`).

A description is loaded only when files are looked at. So what lists the names does not load what reads the files.
"""

from __future__ import annotations

AUTO = "auto"
READERS = "marius_lite.preprocess.readers"
FORMATS = {
    "text": f"{READERS}.text:FORMAT",
    "parquet": f"{READERS}.tables:PARQUET",
    "arrow": f"{READERS}.tables:ARROW",
    "npy": f"{READERS}.npy:FORMAT",
    "gr": f"{READERS}.gr:FORMAT",
    "metis": f"{READERS}.metis:FORMAT",
    "mtx": f"{READERS}.matrix_market:FORMAT",
    "nt": f"{READERS}.ntriples:FORMAT",
    "marius": f"{READERS}.marius_bin:FORMAT",
    "torch": f"{READERS}.torch_save:FORMAT",
}
