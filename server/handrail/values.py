"""
Dataclasses whose frozen ones are quickly defined: hundreds are before the first request of a turn.

`dataclasses.dataclass` compiles six methods for each frozen class. Here only `__init__` is compiled, when the
first instance is made, and all classes share the others. Fields, slots, `replace` and `asdict` are the
library's, and so is all of a class that is not frozen. A method that a class defines itself stays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import field, replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "replace"]

Fields = tuple[dataclasses.Field[Any], ...]

SHORT = {"slots", "kw_only"}  # the options of a frozen class that is defined here

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(of: type | None = None, /, *, frozen: bool = False, **options: bool) -> Any:
        """As `dataclasses.dataclass`."""
        if frozen and of is None and not options.keys() - SHORT:
            return lambda plain: _freeze(plain, options)
        make = _check_bases(dataclasses.dataclass(frozen=frozen, **options), frozen=frozen)
        return make if of is None else make(of)


def _check_bases(make: Callable[[Any], Any], *, frozen: bool) -> Callable[[Any], Any]:
    """Returns *make*, for classes whose bases are not frozen here: the library would not notice."""

    def make_checked(plain: Any) -> Any:
        if any("_compared" in vars(base) for base in plain.__mro__[1:]):
            if frozen:
                raise TypeError(f"{plain.__qualname__} has a frozen base, so it cannot have these options.")
            raise TypeError("cannot inherit non-frozen dataclass from a frozen one")
        return make(plain)

    return make_checked


def _freeze(plain: Any, options: dict[str, bool]) -> Any:
    own = set(vars(plain))
    if "__eq__" in own and vars(plain)["__hash__"] is None:  # as Python has it if only `__eq__` is defined
        own.remove("__hash__")
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(plain)
    fields: Fields = dataclasses.fields(made)
    if reason := _why_not(made, fields):
        raise TypeError(f"{made.__qualname__} cannot be frozen here: {reason}.")
    compared = [each.name for each in fields if each.compare]
    methods = {
        **SHARED,
        **(STATE if options.get("slots") else {}),
        "__init__": _make_first_init(made, fields),
        "_compared": staticmethod(attrgetter(*compared) if compared else lambda _: ()),
        "_shown": tuple(each.name for each in fields if each.repr),
    }
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    return made


def _why_not(made: Any, fields: Fields) -> str:
    """What a frozen class declares that is not provided for here; empty if nothing."""
    if hasattr(made, "__post_init__"):
        return "it has a __post_init__"
    if any(not each.init for each in fields):
        return "a field of it is not given to __init__"
    if any(each.hash is not None for each in fields):
        return "a field of it has the option `hash`"
    if any(
        isinstance(each.type, str) and "InitVar" in each.type for each in made.__dataclass_fields__.values()
    ):
        return "it has an InitVar"
    bases = [base for base in made.__mro__[1:] if dataclasses.is_dataclass(base)]
    if any("_compared" not in vars(base) for base in bases):
        return "a base of it is not frozen here"
    required = [
        each.default is each.default_factory is dataclasses.MISSING for each in fields if not each.kw_only
    ]
    if required != sorted(required, reverse=True):
        return "a field without a default follows one with a default"
    return ""


def _make_first_init(made: Any, fields: Fields) -> Callable[..., None]:
    """Returns an `__init__` for the first instance, which puts the right one into its place."""

    def make_first(self: Any, *positional: Any, **named: Any) -> None:
        init = _make_init(fields)
        init.__qualname__, init.__module__ = f"{made.__qualname__}.__init__", made.__module__
        if made.__init__ is make_first:
            made.__init__ = init
        init(self, *positional, **named)

    return make_first


def _make_init(fields: Fields) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": dataclasses.MISSING}
    positional, named, rows = ["self"], list[str](), list[str]()
    for each in fields:
        name = given = value = each.name
        if each.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = each.default
            given = f"{name}=_default_{name}"
        elif each.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = each.default_factory
            given, value = f"{name}=_MISSING", f"_make_{name}() if {name} is _MISSING else {name}"
        (named if each.kw_only else positional).append(given)
        rows.append(f"  _set(self, {name!r}, {value})")
    arguments = [*positional, "*", *named] if named else positional
    exec(f"def __init__({', '.join(arguments)}):\n" + "\n".join(rows or ["  pass"]), known)
    made: Callable[..., None] = known["__init__"]
    return made


# ---- The methods that classes share -----------------------------------------------------------------


def _is_equal(self: Any, other: Any) -> Any:
    if self is other:
        return True
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._compared(self) == self._compared(other)


def _hash(self: Any) -> int:
    return hash(self._compared(self))


@recursive_repr()
def _represent(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)
    return f"{self.__class__.__qualname__}({shown})"


def _set(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


SHARED: dict[str, Any] = {
    "__eq__": _is_equal,
    "__hash__": _hash,
    "__repr__": _represent,
    "__setattr__": _set,
    "__delattr__": _delete,
}
STATE: dict[str, Any] = {"__getstate__": _state, "__setstate__": _set_state}
