"""What the columns of an edge file are: the option --columns, and what names a column by itself."""

from __future__ import annotations

from collections.abc import Mapping

from marius_lite.errors import UserError

ROLES = ("src", "rel", "dst")
VALUES = ("weight", "time")  # what an edge may carry beside its ids
COLUMN_ROLES = ROLES + VALUES
IGNORE = "_"


def parse_columns(text: str | None) -> tuple[str, ...] | None:
    """Return the roles of columns in order, or the header names of source, (relation,) destination. Raises UserError."""
    if text is None:
        return None
    names = tuple(part.strip() for part in text.split(","))
    used = [name for name in names if name != IGNORE]
    advice = (
        "write src,dst or src,rel,dst in the order of the file's columns (also weight and time; _ for one to ignore), or "
        "header names in that role order"
    )
    if len(set(used)) != len(used):
        raise UserError(f"--columns {text}: a name stands twice: {advice}")
    roles = [name for name in used if name in COLUMN_ROLES]
    ids = [name for name in used if name not in VALUES]
    if roles and len(roles) != len(used):
        raise UserError(
            f"--columns {text}: mixes roles with other names: {advice}"
            + ("; beside header names use --edge-weight and --timestamp" if set(roles) <= {*VALUES} else "")
        )
    if len(ids) not in (2, 3) or not all(names):
        raise UserError(f"--columns {text}: names {len(ids)} columns of ids, 2 or 3 are needed: {advice}")
    if roles and not {"src", "dst"} <= set(roles):
        raise UserError(f"--columns {text}: src and dst are both needed: {advice}")
    if not roles and IGNORE in names:
        raise UserError(f"--columns {text}: _ is for columns given by position: {advice}")
    return names


def check_values(columns: tuple[str, ...] | None, given: Mapping[str, str | None]) -> None:
    """Refuse a column with two roles. ``given``: the option of each of `VALUES`, and the column it names."""
    names = [name for name in given.values() if name is not None]
    for (option, name), role in zip(given.items(), VALUES):
        if name is None:
            continue
        if not name:
            raise UserError(f"{option} '': must be the name of a column")
        if columns is not None and role in columns:
            raise UserError(f"{option} {name}: --columns {','.join(columns)} has the role {role} too: give one of the two")
        if names.count(name) > 1 or (columns is not None and name in columns):
            raise UserError(f"{option} {name}: this column has another role too: each may have one")
