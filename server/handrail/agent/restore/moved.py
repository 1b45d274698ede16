"""
Find the documents that hold what other documents of the same restore have lost.

A turn may move a file, by a patch or a command, or write its text to another file and delete the first. To
restore that is to bring the text back to its old document, and to remove it from the new one. If the first is
not possible, for example because the user has made another file there, the second must not happen: the text
would be nowhere in the workspace. So such a document is restored only after those whose text it holds, and
stays as it is if one of them could not be restored.

Checkpoints do not record moves, so they are found by comparing texts: equal files, or lines that one document
lost and another one gained.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from posixpath import basename

from handrail.agent.restore.document import Conflict, Tally
from handrail.core.checkpoint import Image, Restoration
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.ports import Ports

Sources = Mapping[str, Collection[str]]

WORD = re.compile(r"\w")
LOST_SHARE = 0.5  # of its lines: a document that lost fewer was edited, and not moved
HELD_SHARE = 0.6  # of the lines that a document lost: less is what any two files may have in common
COMMON = 20  # a line that more documents lost says nothing about where it went


def find_sources(plan: Sequence[Restoration]) -> Sources:
    """
    Returns, for each document that holds text of others, the URIs of those others, as the turn left them.

    Cost: linear in the size of the texts.
    """
    contents = [(each, _content(each.before), _content(each.after)) for each in plan]
    lost = {each.uri: _lines(before) for each, before, after in contents if _is_lost(before, after)}
    if not lost:
        return {}
    gained = {
        each.uri: _lines(after) - _lines(before)
        for each, before, after in contents
        if after.strip() and before != after
    }
    result = defaultdict[str, set[str]](set)
    texts = {each.uri: before for each, before, _ in contents if each.uri in lost}
    equal = _pair_equal(texts, {each.uri: after for each, _, after in contents if each.uri in gained})
    for holder, source in equal:
        result[holder].add(source)
    paired = {source for _, source in equal}
    rest = {uri: lines for uri, lines in lost.items() if uri not in paired}
    for holder, source in _pair_alike(rest, gained):
        result[holder].add(source)
    return dict(result)


def find_held(sources: Sources, left: Collection[str]) -> set[str]:
    """
    Returns the documents that must stay as they are if those in *left* do.

    One that stays is not given its own text again, so those that hold that text stay too.
    """
    held, grows = set[str](), True
    while grows:
        more = {
            uri
            for uri, wanted in sources.items()
            if uri not in held and any(source in left or source in held for source in wanted)
        }
        held, grows = held | more, bool(more)
    return held


def hold_back(ports: Ports, uri: str, tally: Tally) -> bool:
    """Records a conflict for the document *uri* if it holds text that could not be restored elsewhere."""
    left = {*(each.uri for each in tally.conflicts), *(each.uri for each in tally.partial)}
    missing = sorted(source for source in tally.sources.get(uri, ()) if source in left)
    if missing:
        tally.conflicts.append(conflict(ports, uri, missing))
    return bool(missing)


def conflict(ports: Ports, uri: str, missing: Sequence[str]) -> Conflict:
    """Returns the conflict of a document that holds text of others that cannot be restored."""
    names = " and ".join(_path(ports, each) for each in missing[:3])
    reason = f"It has text from {names}. That text could not be fully restored there, so it was left here."
    return Conflict(uri=uri, reason=reason)


def _path(ports: Ports, uri: str) -> str:
    place = ports.workspace.resolve(uri)
    return uri if isinstance(place, Failure) else place.path


def _content(image: Image | None) -> str:
    """Returns the text of an image; of other bytes, a text that only equal bytes have."""
    if image is None:
        return ""
    if image.unsaved is not None:
        return image.unsaved.text.content
    text = Text.parse(image.raw or b"", image.encoding)
    return text.content if isinstance(text, Text) else (image.raw or b"").decode("latin-1")


def _lines(content: str) -> frozenset[str]:
    """Returns the lines that tell one text from another."""
    return frozenset(row for line in content.splitlines() if WORD.search(row := line.strip()))


def _is_lost(before: str, after: str) -> bool:
    """Whether most of a text is no longer in its document."""
    if not before.strip() or before == after:
        return False
    if not after.strip():
        return True
    lines = _lines(before)
    return len(lines - _lines(after)) >= LOST_SHARE * max(1, len(lines))


def _pair_equal(lost: Mapping[str, str], held: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pairs each document with one that lost the same text, if possible of the same file name."""
    sources = defaultdict[str, list[str]](list)
    for uri, text in lost.items():
        sources[text].append(uri)
    pairs = []
    for uri, text in held.items():
        if known := [each for each in sources.get(text, ()) if each != uri]:
            source = next((each for each in known if basename(each) == basename(uri)), known[0])
            pairs.append((uri, source))
            if len(known) > 1:
                sources[text].remove(source)
    return pairs


def _pair_alike(
    lost: Mapping[str, frozenset[str]], gained: Mapping[str, frozenset[str]]
) -> list[tuple[str, str]]:
    """Pairs each document that lost lines with the fewest that hold them now."""
    owners = defaultdict[str, list[str]](list)
    for uri, lines in lost.items():
        for line in lines:
            owners[line].append(uri)
    shared = defaultdict[str, dict[str, set[str]]](dict)
    for holder, lines in gained.items():
        for line in lines:
            for source in owners.get(line, ()) if len(owners.get(line, ())) <= COMMON else ():
                if source != holder:
                    shared[source].setdefault(holder, set()).add(line)
    return [(holder, source) for source in lost for holder in _cover(lost[source], shared[source])]


def _cover(lost: frozenset[str], shared: Mapping[str, set[str]]) -> Iterable[str]:
    """Returns the documents that hold most of the *lost* lines, each with a part that no earlier one has."""
    missing, left = set(lost), dict(shared)
    while left:
        holder = max(left, key=lambda each: len(left[each] & missing))
        found = left.pop(holder) & missing
        if len(found) < HELD_SHARE * len(lost):
            return
        missing -= found
        yield holder
