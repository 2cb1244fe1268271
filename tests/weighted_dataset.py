"""A dataset whose edges have weights, from one whose edges have none."""

import shutil

import numpy as np
import zarr

from marius_lite._native import crc32c
from marius_lite.graph import Dataset, EdgeBuckets
from marius_lite.preprocess.edges.adjacency import AdjacencyWriter
from marius_lite.storage.checksum import file_checksum


def with_weights(source, folder, weigh):
    """A copy in ``folder``; edges weigh ``weigh(src, dst, rel)``, of node ids, in the in-edge lists too."""
    dataset = Dataset.open(source)
    shutil.copytree(dataset.path, folder, ignore=shutil.ignore_patterns("adjacency"))
    for split in dataset.manifest.edges:
        add_weights(dataset.edges(split), folder / "edges" / split, weigh)
    if dataset.adjacency is not None:
        edges, nodes = EdgeBuckets(folder / "edges/train", dataset.partitioning, ("weight",)), dataset.partitioning.nodes
        degrees = folder / "in_degrees"
        np.bincount(edges_of(edges)[1].astype(int), minlength=nodes).astype(np.uint32).tofile(degrees)
        AdjacencyWriter(edges, folder / "adjacency/in", degrees, dataset.manifest.relations, 1 << 30).write()
        degrees.unlink()
    sealed = {
        name: (path.stat().st_size, file_checksum(path, path.stat().st_size))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (name := path.relative_to(folder).as_posix()) not in ("zarr.json", "report.json")
    }
    manifest = dataset.manifest.model_copy(update={"edge_columns": ("weight",), "files": sealed}).sealed()
    (folder / "zarr.json").write_bytes(manifest.root_json())
    return Dataset.open(folder)


def add_weights(edges, folder, weigh):
    """The weights of ``edges`` into their ``folder``; those of parallel edges ascend."""
    p, weights, checksums = edges.partitioning, [], []
    for flat in range(p.partitions**2):
        i, j = divmod(flat, p.partitions)
        src, dst, rel = edges.read(i, j)
        found = np.asarray(weigh(src + i * p.rows, dst + j * p.rows, rel), np.float32)
        found = found[np.lexsort((found, rel, src, dst))]
        weights.append(found)
        checksums.append([crc32c(column.view(np.uint8)) for column in (src, dst, rel, found)])
    shutil.rmtree(folder / "bucket_checksums")
    for name, values in (("weight", np.concatenate(weights)), ("bucket_checksums", np.array(checksums, np.uint32))):
        array = zarr.create_array(
            folder / name,
            shape=values.shape,
            chunks=values.shape,
            dtype=values.dtype,
            compressors=None,
            filters=None,
            fill_value=0,
            config={"write_empty_chunks": True},
        )
        array[...] = values


def edges_of(edges):
    """All edges of a split, (src, dst, rel, further columns), in node ids."""
    p, found = edges.partitioning, []
    for i in range(p.partitions):
        for j in range(p.partitions):
            for src, dst, *rest in edges.stream_columns(i, j, 1000, edges.columns):
                found.append([src + i * p.rows, dst + j * p.rows, *rest])
    return [np.concatenate(column) for column in zip(*found)]
