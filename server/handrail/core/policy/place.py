"""Where a path leads, what kind of place that is, and whether that alone is a reason to ask."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from handrail.values import dataclass, field, replace


class PlaceKind(StrEnum):
    """The kinds of places that a path can lead to."""

    INSIDE = "inside"
    PROTECTED = "protected"
    RUNS_LATER = "runs-later"
    OUTSIDE = "outside"
    VERSION_CONTROL = "version-control"
    OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """
    The target of a path after following links and `..`.

    Attributes:
        uri: What the document is called towards the editor.
        identity: The same for every spelling of the same document (invariant 11).
        path: Relative to its folder with `/`, for people and the model, after the folder's name if there are
            several; absolute outside all folders; the URI if the name is not text.
        meant_by: The paths by which a user's rule may mean it, if that is not only `path`: relative to each
            workspace folder that it is in, after a folder's name if there are several, or absolute.
        named: The same of each path through a link that has been followed. No rule for such a path allows
            anything.
        kind: What kind of place it is.
        why: Why a protected place is asked about, where more is known than its kind.
        is_link: Whether the path itself is a symbolic link, which has been followed.
    """

    uri: str
    identity: str
    path: str
    kind: PlaceKind
    why: str = ""
    is_link: bool = field(default=False, compare=False)
    meant_by: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths by which a user's rule may mean it."""
        return self.meant_by or (self.path,)

    def names_below(self, path: str) -> tuple[str, ...]:
        """The same as `named`, of what has *path* in this folder."""
        return tuple(f"{each}/{path}" if each else path for each in self.named)

    def add_names(self, folder: Place) -> Place:
        """Returns this place with the names that it has in *folder*, if that was named through a link."""
        top = folder.identity.rstrip("/\\")
        rest = self.identity.removeprefix(top)
        if not folder.named or not self.identity.startswith(top) or rest[:1] not in ("", "/", "\\"):
            return self
        names = folder.names_below(rest[1:].replace(rest[0], "/")) if rest else folder.named
        return replace(self, named=tuple(dict.fromkeys((*self.named, *names))))


ASKED: dict[PlaceKind, str] = {
    PlaceKind.PROTECTED: "Such files hold keys, or settings of an editor, an agent or a CI system.",
    PlaceKind.RUNS_LATER: "Other programs may run such files later, or take settings from them.",
    PlaceKind.OUTSIDE: "It is outside the workspace folders.",
    PlaceKind.VERSION_CONTROL: "It belongs to version control's own files.",
    PlaceKind.OWN: "It belongs to handrail's own files.",
}

# The same of several places; the other reasons fit any number.
ASKED_OF_SEVERAL: dict[str, str] = {
    ASKED[PlaceKind.OUTSIDE]: "They are outside the workspace folders.",
    ASKED[PlaceKind.VERSION_CONTROL]: "They belong to version control's own files.",
    ASKED[PlaceKind.OWN]: "They belong to handrail's own files.",
}


def why_asked(places: Iterable[Place], by_rule: str) -> str:
    """
    Returns why places are asked about, for people; *by_rule* is said of those that only a rule asks about.
    """
    paths: dict[str, dict[str, None]] = {}
    for place in places:
        paths.setdefault(place.why or ASKED.get(place.kind, by_rule), {})[place.path] = None
    reasons = {
        ASKED_OF_SEVERAL.get(why, why) if len(named) > 1 else why: ", ".join(named)
        for why, named in paths.items()
    }
    if len(reasons) == 1:
        return next(iter(reasons))
    return " ".join(f"{named}: {why}" for why, named in reasons.items())


def is_asked(place: Place, *, is_written: bool) -> bool:
    """Whether a place is asked about unless a rule says otherwise; what runs later may be read."""
    return place.kind in ASKED and (is_written or place.kind is not PlaceKind.RUNS_LATER)
