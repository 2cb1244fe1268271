"""What every section of the configuration is made of: the base class, and kinds of values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from marius_lite.files import parse_bytes

Auto = Literal["auto"]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)]
BytesOrNone = Annotated[int, BeforeValidator(parse_bytes), Field(ge=0)]


class Section(BaseModel):
    """The base of all sections. Unknown keys are refused, and values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)
