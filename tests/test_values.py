"""Frozen dataclasses of ours are like those of the library, whatever they declare."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail import values

PACKAGE = Path(handrail.__file__).parent

Make = Callable[..., Any]


def both(make: Callable[[Make], type]) -> tuple[type, type]:
    """A class by our decorator, and the same by the library's."""
    return make(values.dataclass), make(dataclasses.dataclass)


def plain(dataclass: Make) -> type:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Value:
        """What most are like."""

        name: str
        count: int = 3
        names: list[str] = field(default_factory=list)

    return Value


def by_place(dataclass: Make) -> type:
    @dataclass(frozen=True, slots=True)
    class Value:
        name: str
        count: int = 3
        names: list[str] = field(default_factory=list, compare=False, repr=False)

    return Value


def mixed(dataclass: Make) -> type:
    @dataclass(frozen=True)
    class Value:
        name: str
        count: int = field(default=3, kw_only=True)
        names: tuple[str, ...] = ("a",)

    return Value


def inherited(dataclass: Make) -> type:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Base:
        name: str
        count: int = 1

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Value(Base):
        count: int = 3
        names: tuple[str, ...] = ()

    return Value


def with_methods(dataclass: Make) -> type:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Value:  # noqa: PLW1641
        name: str
        count: int = 3

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Value) and self.name == other.name

        def __repr__(self) -> str:
            return "shown"

    return Value


KINDS = (plain, by_place, mixed, inherited, with_methods)
GIVEN: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {"name": "a"}),
    ((), {"name": "a", "count": 4}),
    ((), {"name": "b", "names": ["x"]}),
    (("a",), {}),
    (("a", 4), {}),
    (("a", 4, ["x"]), {}),
    (("a",), {"count": 5}),
    (("a",), {"name": "b"}),
    ((), {}),
    ((), {"name": "a", "other": 1}),
)


def outcome(call: Callable[..., Any], *by_place: Any, **by_name: Any) -> Any:
    """What comes of a call: its result, or the type of its error."""
    try:
        return call(*by_place, **by_name)
    except TypeError as error:
        return type(error)


@pytest.mark.parametrize("kind", KINDS)
def test_instances_are_like_those_of_the_library(kind: Callable[[Make], type]) -> None:
    for given, named in GIVEN:
        ours, theirs = (outcome(of, *given, **named) for of in both(kind))
        if isinstance(theirs, type):
            assert ours is theirs
            continue
        assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
        assert repr(ours) == repr(theirs)
        assert outcome(hash, ours) == outcome(hash, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_classes_are_like_those_of_the_library(kind: Callable[[Make], type]) -> None:
    ours, theirs = both(kind)
    assert [each.name for each in dataclasses.fields(ours)] == [
        each.name for each in dataclasses.fields(theirs)
    ]
    assert getattr(ours, "__match_args__", ()) == getattr(theirs, "__match_args__", ())
    assert getattr(ours, "__slots__", None) == getattr(theirs, "__slots__", None)
    ours(name="a")  # from then on, its `__init__` is the right one
    names = [list(inspect.signature(of).parameters) for of in (ours, theirs)]
    assert names[0] == names[1]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_equal_and_what_is_not(kind: Callable[[Make], type]) -> None:
    for of in both(kind):
        assert of(name="a") == of(name="a")
        assert of(name="a") != of(name="b")
        assert of(name="a") != "a"
        assert (of(name="a") == of(name="a", count=9)) is (kind is with_methods)
    ours, theirs = both(kind)
    assert ours(name="a").__eq__(theirs(name="a")) in (NotImplemented, False)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_them_can_be_changed(kind: Callable[[Make], type]) -> None:
    for of in both(kind):
        value = of(name="a")
        with pytest.raises(FrozenInstanceError):
            value.name = "b"
        with pytest.raises(FrozenInstanceError):
            del value.name
        assert dataclasses.replace(value, count=9).count == 9
        assert value.count == 3


@pytest.mark.parametrize("kind", KINDS)
def test_copies_are_equal(kind: Callable[[Make], type]) -> None:
    for of in both(kind):
        value = of(name="a", count=7)
        for copied in (copy.copy(value), copy.deepcopy(value)):
            assert copied == value
            assert copied.count == 7


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One that a pickle can name."""

    name: str
    below: Kept | None = None


def test_what_is_pickled_comes_back() -> None:
    value = Kept(name="a", below=Kept(name="b"))
    assert pickle.loads(pickle.dumps(value)) == value


def test_a_value_that_holds_itself_can_be_shown() -> None:
    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Holder:
        held: list[Any]

    holder = Holder(held=[])
    holder.held.append(holder)
    assert "Holder(held=[...])" in repr(holder)


def test_defaults_that_are_made_are_not_shared() -> None:
    ours, _ = both(plain)
    assert ours(name="a").names is not ours(name="a").names


def test_whatever_is_not_frozen_is_the_library_s() -> None:
    @values.dataclass(kw_only=True)
    class Changing:
        name: str
        count: int = field(init=False, default=0)

    value = Changing(name="a")
    value.count = 3
    assert repr(value).endswith("Changing(name='a', count=3)")

    with pytest.raises(TypeError, match="a field of it is not given to __init__"):

        @values.dataclass(frozen=True)
        class Frozen:
            count: int = field(init=False, default=0)


def with_post_init(dataclass: Make) -> type:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Value:
        name: str

        def __post_init__(self) -> None: ...

    return Value


def with_init_var(dataclass: Make) -> type:
    @dataclass(frozen=True, kw_only=True)
    class Value:
        name: dataclasses.InitVar[str]

    return Value


def with_own_hash(dataclass: Make) -> type:
    @dataclass(frozen=True, kw_only=True)
    class Value:
        name: str = field(hash=False)

    return Value


def with_wrong_order(dataclass: Make) -> type:
    @dataclass(frozen=True)
    class Value:
        count: int = 1
        name: str

    return Value


def with_changing_base(dataclass: Make) -> type:
    @dataclass(kw_only=True)
    class Base:
        name: str

    @dataclass(frozen=True, kw_only=True)
    class Value(Base):
        count: int = 1

    return Value


REFUSED = (with_post_init, with_init_var, with_own_hash, with_wrong_order, with_changing_base)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_provided_for_is_refused_when_it_is_defined(kind: Callable[[Make], type]) -> None:
    with pytest.raises(TypeError, match="Value cannot be frozen here: "):
        kind(values.dataclass)


def test_a_class_that_must_not_be_hashed_is_not() -> None:
    for dataclass in (values.dataclass, dataclasses.dataclass):

        @dataclass(frozen=True, kw_only=True)
        class Value:
            name: str
            __hash__ = None  # type: ignore[assignment]

        with pytest.raises(TypeError):
            hash(Value(name="a"))


def test_a_class_that_changes_has_no_frozen_base() -> None:
    for dataclass in (values.dataclass, dataclasses.dataclass):

        @dataclass(frozen=True, kw_only=True)
        class Base:
            name: str

        class Value(Base):
            count: int = 1

        for define in (dataclass, dataclass(kw_only=True)):
            with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
                define(Value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_call_is_told_like_that_of_the_library(kind: Callable[[Make], type]) -> None:
    said = []
    for of in both(kind):
        with pytest.raises(TypeError) as raised:
            of(name="a", other=1)
        said.append(str(raised.value))
    assert said[0] == said[1]


def test_all_modules_use_it() -> None:
    """But for those that only tests import, and one that runs without the package."""
    others = {PACKAGE / "values.py", PACKAGE / "adapters/files/scan.py"}
    modules = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "testing"]
    texts = {path: path.read_text(encoding="utf-8") for path in modules if path not in others}
    found = [path for path, text in texts.items() if "dataclasses import dataclass" in text]
    assert not found, "from handrail.values import dataclass"
