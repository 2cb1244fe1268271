"""What every section of the configuration is made of: the base class, and kinds of values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from marius_lite.sizes import parse_bytes

Auto = Literal["auto"]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)]
BytesOrNone = Annotated[int, BeforeValidator(parse_bytes), Field(ge=0)]


class Section(BaseModel):
    """The base of all sections. Unknown keys are refused, and values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _in_64_bits(cls, value: Any) -> Any:
        """Refuse a whole number that no file and no native call can take, and that may be too long to print."""
        if any(not -(1 << 63) <= number < 1 << 63 for number in _integers(value)):
            raise PydanticCustomError("beyond_64_bits", "Input should be a whole number of at most 64 bits")
        return value


def _integers(value: Any) -> Iterator[int]:
    """Yield the whole numbers of a value, which may be a list or a dict of values."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _integers(each)
