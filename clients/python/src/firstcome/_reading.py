"""JSON read as dataclasses."""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Passive:
    """Has nothing to give back at the end of a ``with`` block."""

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def read(kind: type[T], value: Any) -> T:
    """Reads a JSON value as a type: a dataclass, a tuple, a datetime, or a plain one. What the type lacks is left out.

    Raises ValueError where something is missing or of another type.
    """
    return cast(T, _read(kind, value))


def _read(kind: Any, value: Any) -> Any:
    if is_dataclass(kind):
        if not isinstance(value, dict):
            raise ValueError("an object is missing")
        hints, found = _hints(cast(type, kind)), {}
        for each in fields(kind):
            there = value.get(each.name.rstrip("_"))
            if there is not None or each.default is MISSING:
                found[each.name] = _read(hints[each.name], there)
        return cast(type, kind)(**found)
    inner = typing.get_args(kind)
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return _read(inner[0], value)
    if typing.get_origin(kind) is tuple:
        return tuple(_read(inner[0], each) for each in _read(list, value))
    if kind is datetime:
        return datetime.fromisoformat(_read(str, value).replace("Z", "+00:00"))
    # A bool is no number here.
    if kind is not Any and type(value) is not kind:
        raise ValueError(f"{kind.__name__} is missing")
    return value
