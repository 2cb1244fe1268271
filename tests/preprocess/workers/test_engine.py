"""Workers give the bytes that one process gives: here they are calls in this process, cut and merged as those of Ray are."""

import gzip
import json
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from preprocess_tools import data_files, make

from marius_lite.errors import RunError, UserError
from marius_lite.preprocess import build
from marius_lite.preprocess.workers import engine, shards

OF_THE_MACHINE = ("seconds", "checksum", "sorted_runs")


class InThisProcess:
    """See `engine.Workers`. The last task is done first, as may happen where several processes work."""

    def __init__(self, count):
        self.count = count

    def results(self, function, tasks):
        done = {number: function(tasks[number]) for number in reversed(range(len(tasks)))}
        yield from (done[number] for number in range(len(tasks)))


@pytest.fixture(autouse=True)
def workers(monkeypatch):
    """Small shards, read by this process."""

    @contextmanager
    def opened(count):
        yield InThisProcess(count)

    monkeypatch.setattr(build, "ray_workers", opened)
    monkeypatch.setattr(engine, "LEAST_SHARD", 1 << 15)
    monkeypatch.setattr(engine, "LEAST_SORTED", 1 << 10)


def report(dataset):
    """The report, but for what the machine decides."""
    return {
        name: value for name, value in json.loads((dataset / "report.json").read_text()).items() if name not in OF_THE_MACHINE
    }


def require_same(folder, edges, **options):
    """Make a dataset by one process and by workers, and compare them. Returns the report of the second."""
    make(folder / "one", edges, **options)
    made = make(folder / "several", edges, engine="ray", workers=3, **options)
    assert data_files(folder / "several") == data_files(folder / "one")
    assert report(folder / "several") == report(folder / "one")
    return json.loads((made.path / "report.json").read_text())


def ends(count=20_000, nodes=3_000, seed=0):
    return np.random.default_rng(seed).integers(nodes, size=(count, 2))


def lines(pairs, form="{0}\t{1}\n"):
    return "".join(form.format(src, dst) for src, dst in pairs.tolist())


def test_sources_and_destinations_of_two_kinds(tmp_path):
    (tmp_path / "e.csv").write_text("user_id,item_id\n" + lines(ends(nodes=900), "{0},{1}\n"))
    (line,) = require_same(tmp_path, tmp_path / "e.csv")["warnings"]
    assert "--bipartite user,item" in line
    assert require_same(tmp_path, tmp_path / "e.csv", bipartite="user,item", overwrite=True)["nodes"] == 1800


def test_text_with_relations_in_several_files(tmp_path):
    for name, seed in (("a", 0), ("b", 1), ("valid", 2)):
        rows = lines(ends(seed=seed), "node {0}\trelation {1}\tnode {1}\n")
        (tmp_path / f"{name}.tsv").write_text(f"source\trelation\ttarget\n# a comment\n{rows}")
    files = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    require_same(tmp_path, files, valid=[tmp_path / "valid.tsv"], partitions=3, memory="4MiB", seed=7)


def test_what_does_not_fit_is_sorted_by_workers_in_runs(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + lines(ends(120_000), "{0},{1}\r\n").encode().rstrip())
    said = require_same(tmp_path, [tmp_path / "a.csv"], partitions=2, memory="3MiB", undirected=True, drop_self_loops=True)
    assert said["sorted_runs"] > 3
    assert "sort" in said["seconds"]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("by_column", [False, True])
def test_arrays(tmp_path, turned, by_column):
    array = ends(60_000).T if turned else ends(60_000)
    np.save(tmp_path / "a.npy", (np.asfortranarray if by_column else np.ascontiguousarray)(array))
    require_same(tmp_path, [tmp_path / "a.npy"], memory="4MiB", undirected=True)


def test_tables_with_weights_and_times(tmp_path):
    pairs, rng = ends(), np.random.default_rng(1)
    columns = {
        "source": pairs[:, 0],
        "target": pairs[:, 1],
        "weight": rng.random(len(pairs)),
        "time": rng.integers(9, size=len(pairs)),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=3_000)
    require_same(tmp_path, [tmp_path / "a.parquet"], edge_weight="weight", timestamp="time", drop_duplicates=True)


def test_files_that_cannot_be_cut(tmp_path):
    with gzip.open(tmp_path / "a.gz", "wt") as file:
        file.write(lines(ends(seed=3)))
    edges = "".join(f"{src + 1} {dst + 1}\n" for src, dst in ends(10_000).tolist())
    (tmp_path / "b.gr").write_text(f"p tw 3500 10000\n{edges}")
    require_same(tmp_path, [tmp_path / "a.gz", tmp_path / "b.gr"], columns=None)


def test_integers_too_large_for_some_workers_to_be_their_own_keys(tmp_path):
    pairs = ends(40_000)
    pairs[30_000:] *= 1 << 40
    (tmp_path / "a.tsv").write_text(lines(pairs))
    require_same(tmp_path, [tmp_path / "a.tsv"], memory="8MiB", partitions=2)


def test_features_labels_and_types(tmp_path):
    pairs, rng = ends(nodes=500), np.random.default_rng(2)
    (tmp_path / "a.tsv").write_text(lines(pairs, "n{0}\tn{1}\n"))
    (tmp_path / "ids.txt").write_text("".join(f"n{number}\n" for number in rng.permutation(600)))
    (tmp_path / "types.txt").write_text("".join(f"n{number}\ttype {number % 3}\n" for number in range(600)))
    np.save(tmp_path / "x.npy", rng.normal(size=(600, 5)).astype(np.float32))
    np.save(tmp_path / "y.npy", rng.integers(-1, 4, 600))
    about = {"features": "x.npy", "labels": "y.npy", "node_ids": "ids.txt", "node_types": "types.txt"}
    given = {name: tmp_path / file for name, file in about.items()}
    require_same(
        tmp_path, [tmp_path / "a.tsv"], node_split="0.6,0.2,0.2", partitioner="locality", partitions=3, memory="4MiB", **given
    )


def test_bad_rows_are_listed_with_their_lines(tmp_path):
    rows = lines(ends(40_000)).splitlines(keepends=True)
    for place in range(7, len(rows), 2):
        rows[place] = f"alone{place % 120}\n" if place % 4 == 1 else "1\tx\n"
    (tmp_path / "a.tsv").write_text("".join(rows))
    said = require_same(tmp_path, [tmp_path / "a.tsv"], on_bad_row="skip", ids="int", delimiter="tab")
    assert said["skipped_rows"]["count"] > 16_384  # more than a row group


def test_a_bad_row_stops_with_the_line_and_the_first_of_several_is_named(tmp_path):
    rows = lines(ends(40_000)).splitlines(keepends=True)
    rows[39_990], rows[25_000] = "1\n", "1\t2\t3\n"
    (tmp_path / "a.tsv").write_text("".join(rows))
    with pytest.raises(UserError) as one:
        make(tmp_path / "one", [tmp_path / "a.tsv"])
    with pytest.raises(UserError) as several:
        make(tmp_path / "several", [tmp_path / "a.tsv"], engine="ray")
    assert str(several.value) == str(one.value)
    assert ":25001:" in str(several.value)
    assert not list(tmp_path.glob("*several*"))


def test_signs_of_misreads_are_put_together(tmp_path):
    for name, form in {"split": "a;{0}\tb;{1}\n", "same": "n{0}\tone\n", "odd": "n{0}\t n{1}\n", "title": "n{0}\tn{1}\n"}.items():
        text = lines(ends(9_000), form)
        (tmp_path / f"{name}.tsv").write_text(("Begin\tEnd\n" if name == "title" else "") + text)
        (tmp_path / name).mkdir()
        said = require_same(tmp_path / name, [tmp_path / f"{name}.tsv"], header="no", delimiter="tab")
        assert said["warnings"], name


def test_files_that_carry_different_columns_are_refused(tmp_path):
    pairs = ends(4_000)
    pq.write_table(pa.table({"source": pairs[:, 0], "target": pairs[:, 1], "w": pairs[:, 0]}), tmp_path / "a.parquet")
    (tmp_path / "b.tsv").write_text(lines(pairs))
    wrong = []
    for how in ({}, {"engine": "ray"}):
        with pytest.raises(UserError) as error:
            make(tmp_path / "d", [tmp_path / "a.parquet", tmp_path / "b.tsv"], edge_weight="w", **how)
        wrong.append(str(error.value))
    assert wrong[0] == wrong[1]


def test_memory_is_divided(tmp_path):
    (tmp_path / "a.tsv").write_text("1\t2\n")
    with pytest.raises(UserError, match=r"--workers 5: each gets .* of --memory, and needs at least"):
        make(tmp_path / "d", [tmp_path / "a.tsv"], memory="4MiB", engine="ray", workers=5)


def test_workers_need_their_engine(tmp_path):
    with pytest.raises(UserError, match="--workers 3: --engine plain has none"):
        make(tmp_path / "d", ["a.tsv"], workers=3)
    with pytest.raises(UserError, match="--workers 0: must be a whole number from 1"):
        make(tmp_path / "d", ["a.tsv"], engine="ray", workers=0)


def task(folder, mark, **others):
    return shards.ShardTask(0, folder, None, mark, **others)


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path):
    folder, mark = engine.marked(tmp_path / "shards")
    assert task(folder, mark).own_folder() != task(folder, mark).own_folder()
    for wrong in (task(tmp_path, mark), task(folder, "another command's")):
        with pytest.raises(
            RunError, match=r"does not see .*: workers on several machines need .* a folder that all of them share"
        ):
            wrong.own_folder()
    with pytest.raises(RunError, match="the command 0: install the same everywhere"):
        task(folder, mark, version="0").own_folder()
