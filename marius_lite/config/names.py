"""Check settings whose values are the names in a table. A new name takes a line in the table and nothing here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


@dataclass(frozen=True, eq=False)
class NameOf:
    """Mark a field of type str: its value must be a name in ``before``, in ``table`` (as it is when checked), or in ``after``."""

    table: Iterable[str]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names that are allowed, in the order in which they are listed."""
        return [*self.before, *self.table, *self.after]

    def check(self, value: object) -> str:
        """Return the name. Raises what pydantic raises for a Literal."""
        if isinstance(value, str) and value in self.names:
            return value
        *others, last = map(repr, self.names)
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": f"{', '.join(others)} or {last}"})

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)
