"""Which column of a file has which role: by its title, or by its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path

from marius_lite.errors import UserError
from marius_lite.preprocess.columns import COLUMN_ROLES, IGNORE, ROLES
from marius_lite.preprocess.options import Options

SYNONYMS = {
    "src": {
        "src",
        "source",
        "source_id",
        "src_id",
        "head",
        "h",
        "head_id",
        "from",
        "from_id",
        "fromnodeid",
        "subject",
        "s",
        "u",
        "user",
        "user_id",
        "userid",
    },
    "dst": {
        "dst",
        "destination",
        "destination_id",
        "dst_id",
        "tail",
        "t",
        "tail_id",
        "to",
        "to_id",
        "tonodeid",
        "object",
        "o",
        "target",
        "target_id",
        "v",
        "item",
        "item_id",
        "itemid",
    },
    "rel": {"rel", "relation", "relation_id", "rel_id", "r", "predicate", "p", "edge_type", "type", "label"},
}
MEANT = {"src": "the source", "dst": "the destination", "rel": "the relation"}
INDEX = "__index_level_0__"  # what pandas calls an index without a name
NODE_IDS = ("id", "node_id", "nodeid", "raw_id", "node", "vertex_id", "vertex", "entity_id", "entity", "name", INDEX)
NODE_VALUES = {  # titles of the column of values; the first that a file has is taken
    "type": ("type", "node_type", "ntype", "kind", "category", "class", "label"),
    "label": ("label", "labels", "y", "class", "classes", "target", "topic", "subject", "category", "kind", "type"),
}
Places = dict[str, int]
FindRoles = Callable[[Sequence[str], int, Options, str], tuple[Places, bool]]


def find_roles(names: Sequence[str], fields: int, options: Options, where: str) -> tuple[Places, bool]:
    """Return the place of each role among ``fields`` columns, and whether ``names`` are titles.

    ``names``: the titles of the columns, or the values of their first row; empty where there can be no titles. Raises UserError,
    which begins with ``where``.
    """
    values = _values(names, options, where)
    wanted = options.columns
    if wanted is None:
        rows = _row_numbers(names, fields)
        ends, named = _usual(names, [at for at in range(fields) if at not in values.values() and at != rows], where)
        named |= rows is not None
    elif all(name in names for name in wanted if name != IGNORE):
        given = set(wanted) <= {*COLUMN_ROLES, IGNORE}
        roles = wanted if given else ("src", "dst") if len(wanted) == 2 else ROLES
        require_distinct(where, names, [name for name in wanted if name != IGNORE])
        ends, named = {role: names.index(name) for role, name in zip(roles, wanted) if name != IGNORE}, True
    else:
        ends = _by_place(wanted, names, fields, where)
        known = set().union(*SYNONYMS.values())
        named = all(place < len(names) and names[place].lower() in known for place in (ends["src"], ends["dst"]))
    for role, place in values.items():
        if place in ends.values():
            other = next(one for one, at in ends.items() if at == place)
            raise UserError(
                f"{where}: column {place + 1} ({names[place]}) is {other} and {role}: say with --columns which "
                "columns are the ids"
            )
    return ends | values, named or bool(values)


def node_roles(value: str) -> FindRoles:
    """Return a function like `find_roles` for a file with each node's type or label: the roles are ``id`` and ``value``.
    --columns does not hold for such a file."""

    def find(names: Sequence[str], fields: int, options: Options, where: str) -> tuple[Places, bool]:
        lower = [name.lower() for name in names]
        at_id, at_value = (
            next((lower.index(name) for name in known if name in lower), None) for known in (NODE_IDS, NODE_VALUES[value])
        )
        if at_id is not None and at_value is not None:
            require_distinct(where, lower, (lower[at_id], lower[at_value]))
            return {"id": at_id, value: at_value}, True
        rows = _row_numbers(names, fields)
        free = [at for at in range(fields) if at != rows]
        if len(free) == 2:
            turned = at_id == free[1] or at_value == free[0]
            return {"id": free[turned], value: free[not turned]}, rows is not None or turned
        shown = f" ({', '.join(names)[:120]})" if names else ""
        raise UserError(
            f"{where}: {fields} columns{shown}: give two, a node's id and its {value}, or name these `id` and "
            f"`{value}` in a header"
        )

    return find


def _row_numbers(names: Sequence[str], fields: int) -> int | None:
    """Return the place of an index without a title, which pandas writes before or after the columns. None where there is none, or
    too few other columns."""
    lower = [name.lower() for name in names]
    if fields < 3 or len(names) != fields:
        return None
    return lower.index(INDEX) if INDEX in lower else 0 if lower[0] in ("", "unnamed: 0") else None


def require_distinct(where: Path | str, names: Sequence[str], used: Iterable[str]) -> None:
    """Raise UserError, which begins with ``where``, where two columns have a name by which one is read."""
    count = Counter(names)
    for name in used:
        if count[name] > 1:
            raise UserError(f"{where}: {count[name]} columns are called {name!r}: give them names of their own")


def left_out(names: Sequence[str], used: Iterable[int]) -> str:
    """Return the part of a description that lists columns which are not read."""
    read = set(used)
    rest = [name for at, name in enumerate(names) if at not in read]
    weight = next((name for name in rest if name.lower() in ("weight", "weights")), None)
    hint = "" if weight is None else f" (--edge-weight {weight} reads weights)"
    return f", left out: {', '.join(rest)[:120]}{hint}" if rest else ""


def columns_used(roles: Container[str]) -> int:
    """Return 2, or 3 with relations."""
    return 3 if "rel" in roles else 2


def _values(names: Sequence[str], options: Options, where: str) -> Places:
    places = {}
    for role, option, name in (("weight", "--edge-weight", options.edge_weight), ("time", "--timestamp", options.timestamp)):
        if name is None or (name not in names and not options.needs_values):
            continue
        if name not in names:
            raise UserError(
                f"{where}: {option} {name}: no column {name!r}: {_known(names)}: use one of their names, or give the "
                f"order of all columns, for example --columns src,dst,{role}"
            )
        require_distinct(where, names, [name])
        places[role] = names.index(name)
    return places


def _by_place(wanted: tuple[str, ...], names: Sequence[str], fields: int, where: str) -> Places:
    given = ",".join(wanted)
    if not set(wanted) <= {*COLUMN_ROLES, IGNORE}:
        missing = next(name for name in wanted if name not in names)
        raise UserError(
            f"{where}: --columns {given}: no column {missing!r}: {_known(names)}: use their names, or src,rel,dst "
            "for the order of the columns"
        )
    if len(wanted) != fields:
        raise UserError(
            f"{where}: the file has {fields} columns, --columns {given} names {len(wanted)}: name every one, with _ "
            "for those to ignore"
        )
    return {role: place for place, role in enumerate(wanted) if role != IGNORE}


def _usual(names: Sequence[str], free: list[int], where: str) -> tuple[Places, bool]:
    """Find roles by the usual names, else take two or three ``free`` places in their order.

    Of three columns, one with an unknown name is the relation if it stands between source and destination. Elsewhere it is left
    out. Names of one letter may be ids.
    """
    usual = {
        role: next((at for at in free if at < len(names) and names[at].lower() in known), None)
        for role, known in SYNONYMS.items()
    }
    by_name = {role: place for role, place in usual.items() if place is not None}
    telling = all(len(names[place]) > 1 for place in by_name.values())
    middle = len(free) == 3 and by_name == {"src": free[0], "dst": free[2]}
    if {"src", "dst"} <= set(by_name) and (len(free) != 3 or len(by_name) == 3 or (telling and not middle)):
        require_distinct(where, [name.lower() for name in names], [names[place].lower() for place in by_name.values()])
        return by_name, True
    if len(free) in (2, 3):
        placed = dict(zip(("src", "dst") if len(free) == 2 else ROLES, free))
        _require_agreement(placed, by_name, names, where)
        return placed, middle and telling
    shown = f" ({', '.join(names)[:120]})" if names else ""
    raise UserError(
        f"{where}: {len(free)} columns{shown}: say which they are with --columns, for example src,rel,dst,"
        + ",".join(["_"] * max(1, len(free) - 3))
    )


def _require_agreement(placed: Places, by_name: Places, names: Sequence[str], where: str) -> None:
    """Raise UserError where a column's title means another role than its place does. Titles of one letter do not count: they may
    be ids."""
    for role, place in by_name.items():
        read = next(other for other, at in placed.items() if at == place)
        if len(names[place]) > 1 and read != role and role in placed:
            rest = iter(at for at in placed.values() if at != place)
            meant = {each: place if each == role else next(rest) for each in placed}
            titles = ",".join(names[at] for at in meant.values())
            columns = ",".join(sorted(meant, key=lambda each: meant[each]))
            raise UserError(
                f"{where}: column {place + 1} is called {names[place]!r}, but would be read as {MEANT[read]}: give "
                f"the titles in the order {','.join(placed)} (--columns {titles}), or, where "
                f"the first row holds none, what each column is (--columns {columns})"
            )


def _known(names: Sequence[str]) -> str:
    return f"the columns are {', '.join(names)[:120]}" if names else "the columns have no names"
