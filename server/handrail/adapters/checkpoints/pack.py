"""
Git packs without deltas: created from objects, read entry by entry.

However many objects it has, a pack is two files: writing it takes two syncs, and entries are copied from one
pack to another unchanged. Which packs exist, and which are joined, is decided in `packs`. A damaged pack
raises ValueError, and so does one with deltas, which only git creates.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path

from dulwich.errors import ChecksumMismatch, FileFormatException
from dulwich.objects import ObjectID, ShaFile

from handrail.values import dataclass

COMPRESSION = 1  # a checkpoint is waited for; git's packing makes up for it later
TINY_BYTES = 1 << 8  # content that is stored as it is: a tree or a commit gets hardly smaller
STORED, STORED_SIZE = b"\x78\x01\x01", struct.Struct("<HH")  # the only block of a deflated stream
SMALL_BYTES = 1 << 12  # content that fits into a window for which zlib needs little memory
SMALL_WINDOW, SMALL_MEMORY = 12, 4

HEADER, TRAILER_BYTES, NAME_BYTES = struct.Struct(">4sLL"), 20, 20
INDEX_MAGIC, FAN_OUT = b"\xfftOc\0\0\0\x02", struct.Struct(">256L")
LARGE = 1 << 31  # an offset from here on stands in a table of its own
CACHED_BYTES = 200_000  # of an index that is read once for as long as it stays the same
COMMIT, TREE, BLOB = 1, 2, 3
WHOLE = {COMMIT: "commit", TREE: "tree", BLOB: "blob", 4: "tag"}  # the kinds of entries that are not deltas

# What reading may raise that someone else has written to.
DAMAGE = (
    KeyError,
    IndexError,
    OSError,
    ValueError,
    TypeError,  # dulwich, of an index that leads it astray
    OverflowError,
    AssertionError,
    zlib.error,
    struct.error,
    FileFormatException,
    ChecksumMismatch,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An object as it is stored in a pack."""

    name: ObjectID
    raw: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """
    The contents of a pack.

    Attributes:
        entries: In the order of the names.
        extents: Where each entry starts and ends.
    """

    entries: Sequence[Entry]
    extents: Mapping[ObjectID, tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The two files of a pack, what they are called, and what they hold."""

    name: str
    pack: bytes
    index: bytes
    held: Held


def entry_of(each: ShaFile) -> Entry:
    """An object as it is put into a pack."""
    return _entry(each.id, each.type_num, each.as_raw_string())


def make_entry(kind: int, content: bytes) -> Entry:
    """A new object as it is put into a pack, from its *kind*, as in `WHOLE`, and its content."""
    digest = hashlib.sha1(_header(kind, content), usedforsecurity=False)
    digest.update(content)
    return _entry(ObjectID(digest.hexdigest().encode()), kind, content)


def _header(kind: int, content: bytes) -> bytes:
    return f"{WHOLE[kind]} {len(content)}\0".encode()


def _entry(name: ObjectID, kind: int, content: bytes) -> Entry:
    """The kind and size in few bytes, then the content, deflated."""
    rest, size = kind << 4 | len(content) & 15, len(content) >> 4
    head = bytearray()
    while size:
        head.append(rest | 0x80)
        rest, size = size & 0x7F, size >> 7
    head.append(rest)
    return Entry(name=name, raw=bytes(head) + _deflate(content))


def _deflate(content: bytes) -> bytes:
    """Content as a zlib stream; what is small is deflated with less preparation."""
    if len(content) <= TINY_BYTES:
        size = STORED_SIZE.pack(len(content), len(content) ^ 0xFFFF)
        return STORED + size + content + zlib.adler32(content).to_bytes(4, "big")
    if len(content) > SMALL_BYTES:
        return zlib.compress(content, COMPRESSION)
    made = zlib.compressobj(COMPRESSION, zlib.DEFLATED, SMALL_WINDOW, SMALL_MEMORY)
    return made.compress(content) + made.flush()


def make_pack(entries: Iterable[Entry]) -> Pack:
    """The pack of these entries, each of another name."""
    ordered = sorted(entries, key=lambda entry: entry.name)
    offsets = list(accumulate((len(entry.raw) for entry in ordered), initial=HEADER.size))
    body = b"".join((HEADER.pack(b"PACK", 2, len(ordered)), *(entry.raw for entry in ordered)))
    digest = hashlib.sha1(body, usedforsecurity=False).digest()
    return Pack(
        name="pack-" + digest.hex(),
        pack=body + digest,
        index=_index(ordered, offsets[:-1], digest),
        held=Held(
            entries=ordered,
            extents=dict(zip((entry.name for entry in ordered), pairwise(offsets), strict=True)),
        ),
    )


def _index(ordered: Sequence[Entry], offsets: Sequence[int], digest: bytes) -> bytes:
    names = [bytes.fromhex(entry.name.decode("ascii")) for entry in ordered]
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    large = [offset for offset in offsets if offset >= LARGE]
    short = [offset if offset < LARGE else LARGE + large.index(offset) for offset in offsets]
    sums = [zlib.crc32(entry.raw) for entry in ordered]
    count = len(ordered)
    parts = (
        INDEX_MAGIC,
        FAN_OUT.pack(*accumulate(counts)),
        *names,
        struct.pack(f">{count}L{count}L{len(large)}Q", *sums, *short, *large),
        digest,
    )
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """
    The contents of a pack's index.

    Attributes:
        names, starts, ends, sums: Of each entry, in the order of the names.
        extents: Where each entry starts and ends.
    """

    names: tuple[ObjectID, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    sums: tuple[int, ...]
    extents: Mapping[ObjectID, tuple[int, int]]


def list_objects(pack: Path) -> Listed:
    """The objects in a pack, from its index. Raises OSError, ValueError."""
    index, size = pack.with_suffix(".idx"), pack.stat().st_size
    there = index.stat()
    if there.st_size > CACHED_BYTES:
        return _list(index, size)
    return _list_once(index, size, (there.st_size, there.st_mtime_ns, there.st_ino))


@lru_cache(maxsize=64)
def _list_once(index: Path, size: int, stamp: tuple[int, int, int]) -> Listed:
    """Reads a small index; the result is cached until its *stamp* changes."""
    return _list(index, size)


def _list(index: Path, size: int) -> Listed:
    raw = index.read_bytes()
    try:
        if not raw.startswith(INDEX_MAGIC):
            raise ValueError("The index has an unknown format.")
        at = len(INDEX_MAGIC)
        count = FAN_OUT.unpack_from(raw, at)[-1]
        at += FAN_OUT.size
        if at + count * (NAME_BYTES + 8) > len(raw):  # it may claim thousands of millions
            raise ValueError("The index is truncated.")
        names = [raw[at + 20 * number : at + 20 * number + 20] for number in range(count)]
        at += NAME_BYTES * count
        numbers = struct.unpack_from(f">{count}L{count}L", raw, at)
        at += 8 * count
        sums, short = numbers[:count], numbers[count:]
        large = struct.unpack(f">{(len(raw) - at - 40) // 8}Q", raw[at : len(raw) - 40])
        starts = tuple(offset if offset < LARGE else large[offset - LARGE] for offset in short)
    except (struct.error, IndexError) as error:
        raise ValueError("The index is truncated.") from error
    ascending = [*sorted(starts), size - TRAILER_BYTES]
    follows = dict(pairwise(ascending))
    ids = tuple(ObjectID(name.hex().encode()) for name in names)
    ends = tuple(follows[start] for start in starts)
    extents = dict(zip(ids, zip(starts, ends, strict=True), strict=True))
    return Listed(names=ids, starts=starts, ends=ends, sums=sums, extents=extents)


def read(pack: Path) -> list[Entry]:
    """Returns all entries of a pack without deltas, as they are stored in it. Raises OSError, ValueError."""
    there, raw = list_objects(pack), pack.read_bytes()
    entries = []
    for name, start, end, checksum in zip(there.names, there.starts, there.ends, there.sums, strict=True):
        entry = Entry(name=name, raw=raw[start:end])
        if not entry.raw or zlib.crc32(entry.raw) != checksum or entry.raw[0] >> 4 & 7 not in WHOLE:
            raise ValueError(f"{pack.name} is damaged, or contains deltas.")
        entries.append(entry)
    return entries


def content(pack: Path | str, name: ObjectID, start: int, end: int) -> tuple[int, bytes]:
    """The kind and content of the object *name*, which has its place there. Raises OSError, ValueError."""
    with open(pack, "rb", buffering=0) as file:
        file.seek(start)
        raw = file.read(end - start)
    at = 0
    while raw[at : at + 1] and raw[at] & 0x80:
        at += 1
    if not raw or raw[0] >> 4 & 7 not in WHOLE:
        raise ValueError(f"{os.path.basename(pack)} contains deltas.")
    kind = raw[0] >> 4 & 7
    try:
        inflated = zlib.decompress(raw[at + 1 :])
    except zlib.error as error:
        raise ValueError(f"{os.path.basename(pack)} is damaged.") from error
    return genuine(name, kind, inflated)


def genuine(name: ObjectID, kind: int, raw: bytes) -> tuple[int, bytes]:
    """The kind and content of an object, if that is its *name*. Raises ValueError if it is not."""
    digest = hashlib.sha1(_header(kind, raw), usedforsecurity=False)
    digest.update(raw)
    if digest.hexdigest().encode() != name:
        raise ValueError(f"The content of {name.decode('ascii', 'replace')} is damaged.")
    return kind, raw
