"""The same rows of numbers in a file of every format that preprocess reads."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr


def csr(array, prefix="", splits=False):
    """The parts of a CSR matrix; with ``splits`` each entry stands twice, in halves, and columns fall."""
    rows, columns = np.nonzero(array)
    data = array[rows, columns]
    if splits:
        rows, columns, data = np.repeat(rows, 2)[::-1], np.repeat(columns, 2)[::-1], np.repeat(data / 2, 2)[::-1]
        order = np.argsort(rows, kind="stable")
        rows, columns, data = rows[order], columns[order], data[order]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(array)))])
    return {
        f"{prefix}indptr": indptr,
        f"{prefix}indices": columns.astype(np.int32),
        f"{prefix}data": data,
        f"{prefix}shape": np.array(array.shape),
    }


def formats(folder, array, chunk):
    """Every file of the array, and what to call it."""
    np.save(folder / "a.npy", array)
    np.savez(folder / "one.npz", array)
    np.savez_compressed(folder / "several.npz", y=array[:, 0], x=array, z=array)
    np.savez_compressed(folder / "csr.npz", labels=array[:, 0], **csr(array, "feat_"))
    columns = {f"c{k}": array[:, k] for k in range(array.shape[1])}
    pq.write_table(pa.table(columns), folder / "columns.parquet", row_group_size=chunk)
    values = pa.array(array.reshape(-1))
    lists = {
        "list": pa.ListArray.from_arrays(np.arange(0, array.size + 1, array.shape[1], dtype=np.int32), values),
        "fixed": pa.FixedSizeListArray.from_arrays(values, array.shape[1]),
    }
    for name, column in lists.items():
        pq.write_table(pa.table({"x": column}), folder / f"{name}.parquet", row_group_size=chunk)
    for version in (2, 3):
        chunks = (chunk, max(1, array.shape[1] // 2))
        zarr.create_array(folder / f"v{version}.zarr", data=array, chunks=chunks, zarr_format=version)
    return [
        "a.npy",
        "one.npz",
        "several.npz",
        "several.npz:z",
        "csr.npz",
        "csr.npz:feat",
        "csr.npz:feat_",
        "columns.parquet",
        "list.parquet",
        "fixed.parquet",
        "v2.zarr",
        "v3.zarr",
    ]
