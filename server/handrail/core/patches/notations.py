"""
Read the notations in which models write edits, all into the same hunks.

Notations: V4A envelopes, SEARCH/REPLACE blocks, unified diffs, whole-file fences, and plain search and
replacement strings. Line ends of the patch never matter; the document decides about those. Line numbers
are hints. What a hunk matches and what it writes is decided in `match` and `plan`. Finding edit blocks in
a pasted reply is `reply`'s work.
"""

from __future__ import annotations

from handrail.core.patches.hunk import FilePatch, Hunk, Operation
from handrail.core.patches.search_replace import parse_search_replace
from handrail.core.patches.unified import parse_unified
from handrail.core.patches.v4a import parse_v4a

__all__ = ["FilePatch", "Hunk", "Operation", "parse_search_replace", "parse_unified", "parse_v4a"]
