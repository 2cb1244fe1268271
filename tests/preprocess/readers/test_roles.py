"""Which column plays which role: names, orders, and both with weights and times."""

import pytest

from marius_lite.errors import UserError
from marius_lite.preprocess.options import Options
from marius_lite.preprocess.readers.roles import find_roles


def roles(names, fields=None, **given):
    names = names.split()
    return find_roles(names, fields or len(names), Options.parse(edges=["e"], output="d", **given), "e:1")


@pytest.mark.parametrize(
    ("names", "given", "places", "named"),
    [
        ("3 4", {}, {"src": 0, "dst": 1}, False),
        ("a r b", {}, {"src": 0, "rel": 1, "dst": 2}, False),
        ("u v", {}, {"src": 0, "dst": 1}, True),
        ("tail relation head", {}, {"src": 2, "rel": 1, "dst": 0}, True),
        ("source interaction target", {}, {"src": 0, "rel": 1, "dst": 2}, True),
        ("source target weight", {}, {"src": 0, "dst": 1}, True),
        ("weight target source", {}, {"src": 2, "dst": 1}, True),
        ("u v w", {}, {"src": 0, "rel": 1, "dst": 2}, False),  # can as well be ids
        ("source target weight", {"edge_weight": "weight"}, {"src": 0, "dst": 1, "weight": 2}, True),
        ("a b w", {"edge_weight": "w"}, {"src": 0, "dst": 1, "weight": 2}, True),
        ("w a k b", {"edge_weight": "w"}, {"src": 1, "rel": 2, "dst": 3, "weight": 0}, True),
        ("when to from how", {"timestamp": "when", "edge_weight": "how"}, {"src": 2, "dst": 1, "time": 0, "weight": 3}, True),
        ("a b c d", {"columns": "c,a", "timestamp": "d"}, {"src": 2, "dst": 0, "time": 3}, True),
        ("a b c d", {"columns": "dst,weight,src,time"}, {"dst": 0, "weight": 1, "src": 2, "time": 3}, False),
        ("time dst src weight", {"columns": "src,dst,weight"}, {"src": 2, "dst": 1, "weight": 3}, True),
        ("x y z", {"columns": "src,dst,_", "edge_weight": "z"}, {"src": 0, "dst": 1, "weight": 2}, True),
        ("paper kind topic", {"columns": "paper,topic"}, {"src": 0, "dst": 2}, True),
        ("cited source", {"columns": "dst,src"}, {"dst": 0, "src": 1}, False),
        ("paper type", {}, {"src": 0, "dst": 1}, False),  # no relation could be in its place
        ("s cited", {}, {"src": 0, "dst": 1}, False),
        ("x s", {}, {"src": 0, "dst": 1}, False),  # can as well be an id
        ("1 2 0.5", {"columns": "src,dst,weight"}, {"src": 0, "dst": 1, "weight": 2}, False),
    ],
)
def test_roles(names, given, places, named):
    assert roles(names, **given) == (places, named)


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        ("a b c d", {}, r"^e:1: 4 columns \(a, b, c, d\): say which they are with --columns, for example src,rel,dst,_$"),
        ("a b c d e", {"edge_weight": "e"}, "4 columns"),
        ("a b", {"edge_weight": "w"}, "^e:1: --edge-weight w: no column 'w': the columns are a, b: use one of their names, or "),
        ("a b", {"columns": "a,c"}, "--columns a,c: no column 'c': the columns are a, b"),
        ("a b c", {"columns": "src,dst"}, "the file has 3 columns, --columns src,dst names 2"),
        (
            "Cited Source",
            {},
            r"^e:1: column 2 is called 'Source', but would be read as the destination: give the titles in the "
            r"order src,dst \(--columns Source,Cited\), or, where the first row holds none, what each column is "
            r"\(--columns dst,src\)$",
        ),
        ("a b type", {}, r"column 3 is called 'type', .* \(--columns a,type,b\), .* \(--columns src,dst,rel\)"),
        ("target likes b", {}, r"column 1 is called 'target', .* \(--columns likes,b,target\), .* \(--columns dst,src,rel\)"),
        ("a b c", {"columns": "src,rel,dst", "timestamp": "b"}, r"column 2 \(b\) is rel and time"),
    ],
)
def test_what_cannot_be_told(names, given, message):
    with pytest.raises(UserError, match=message):
        roles(names, **given)


@pytest.mark.parametrize(
    ("names", "given", "twice"),
    [
        ("src dst dst", {}, "dst"),
        ("src dst Dst w", {}, "dst"),
        ("a b b", {"columns": "a,b"}, "b"),
        ("src dst dst", {"columns": "src,_,dst"}, "dst"),
        ("src dst w w", {"edge_weight": "w"}, "w"),
    ],
)
def test_a_name_that_stands_twice_names_no_column(names, given, twice):
    with pytest.raises(UserError, match=f"e:1: 2 columns are called '{twice}': give them names of their own"):
        roles(names, **given)


def test_a_name_that_stands_twice_beside_the_columns_that_are_read_is_no_matter():
    assert roles("src dst w w")[0] == {"src": 0, "dst": 1}
    assert roles("a b b", columns="src,_,dst")[0] == {"src": 0, "dst": 2}  # read by their order


def test_without_names():
    with pytest.raises(UserError, match="--timestamp t: no column 't': the columns have no names"):
        roles("", 3, timestamp="t")
    assert roles("", 2) == ({"src": 0, "dst": 1}, False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": "src,dst,weight", "edge_weight": "w"}, "--edge-weight w: --columns src,dst,weight has the role weight too"),
        ({"edge_weight": "w", "timestamp": "w"}, "--edge-weight w: this column has another role too"),
        ({"columns": "a,b", "timestamp": "b"}, "--timestamp b: this column has another role too"),
        ({"columns": "a,b,weight"}, "mixes roles with other names: .*; beside header names use --edge-weight"),
        ({"columns": "src,weight"}, "names 1 columns of ids, 2 or 3 are needed"),
        ({"edge_weight": ""}, "--edge-weight '': must be the name of a column"),
    ],
)
def test_options_that_contradict_each_other(given, message):
    with pytest.raises(UserError, match=message):
        Options.parse(edges=["e"], output="d", **given)


def test_options_record_what_was_asked_for():
    plain = Options.parse(edges=["e"], output="d")
    assert plain.values == ()
    assert not {"edge_weight", "timestamp"} & set(plain.recorded())
    given = Options.parse(edges=["e"], output="d", edge_weight="w", columns="src,dst,time,_")
    assert given.values == ("weight", "time")
    assert (given.recorded()["edge_weight"], given.recorded()["columns"]) == ("w", ("src", "dst", "time", "_"))
