"""How an object of JSON becomes a data class, and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, Callable, TypeVar

from .errors import RingtapError

M = TypeVar("M", bound="Model")
#: A field: its name here, its name in JSON, whether it is always there, and what reads it.
Field = tuple[str, str, bool, Callable[[Any], Any] | None]
_KNOWN: dict[type, list[Field]] = {}


class Model:
    """Base of what the API answers and takes."""

    __slots__ = ()

    @classmethod
    def from_json(cls: type[M], given: dict[str, Any]) -> M:
        """Makes one of what `json.loads` gives. Fields that this client does not know are left out.

        Raises `RingtapError` where one is missing: the server is of another version than this client.
        """
        values = {}
        for attribute, name, is_required, decode in _fields(cls):
            if name in given:
                value = given[name]
                values[attribute] = decode(value) if decode is not None and value is not None else value
            elif is_required:
                raise RingtapError(
                    f"An answer of the console has no `{name}`, which `{cls.__name__}` has in this client: "
                    "they are of different versions. Install the client of the console's version"
                )
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """What `json.dumps` takes. What is None and need not be there is left out."""
        written = {}
        for attribute, name, is_required, _ in _fields(type(self)):
            value = getattr(self, attribute)
            if value is not None or is_required:
                written[name] = _plain(value)
        return written


def decode(kind: Any, given: Any) -> Any:
    """A value of JSON as a type of `models`."""
    decoder = _decoder(kind)
    return given if decoder is None or given is None else decoder(given)


def _plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_json()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value


def kinds(cls: type) -> dict[str, type]:
    """Which fields have numbers: by their name in JSON, `int` or `float`."""
    found = {}
    hints = typing.get_type_hints(cls)
    for attribute, name, _, _ in _fields(cls):
        known = [one for one in (typing.get_args(hints[attribute]) or [hints[attribute]]) if one in (int, float)]
        if known:
            found[name] = known[0]
    return found


def _fields(cls: type) -> list[Field]:
    known = _KNOWN.get(cls)
    if known is None:
        known = _KNOWN[cls] = _fields_of(cls)
    return known


def _fields_of(cls: type) -> list[Field]:
    hints = typing.get_type_hints(cls)
    found = []
    for one in dataclasses.fields(cls):
        is_required = one.default is dataclasses.MISSING
        found.append((one.name, one.metadata.get("name", one.name), is_required, _decoder(hints[one.name])))
    return found


def _decoder(kind: Any) -> Callable[[Any], Any] | None:
    """What makes a value of that type of JSON; None where JSON has it already."""
    if isinstance(kind, type) and issubclass(kind, Model):
        return kind.from_json
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        known = [one for one in arguments if one is not type(None)]
        return _decoder(known[0]) if len(known) == 1 else None
    inner = _decoder(arguments[-1]) if origin in (list, dict) else None
    if inner is None:
        return None
    if origin is list:
        return lambda values: [inner(one) for one in values]
    return lambda values: {name: inner(one) for name, one in values.items()}
