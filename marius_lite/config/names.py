"""Settings whose values are the names in a table: a line in the table is all that a new name takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


@dataclass(frozen=True, eq=False)
class NameOf:
    """Marks a field of type str: ``before``, a name in ``table`` at the moment of the check, or ``after``."""

    table: Iterable[str]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [*self.before, *self.table, *self.after]

    def check(self, value: object) -> str:
        """The name. Raises what pydantic does for a Literal."""
        if isinstance(value, str) and value in self.names:
            return value
        *others, last = map(repr, self.names)
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": f"{', '.join(others)} or {last}"})

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)
