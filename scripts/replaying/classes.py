"""
The ways of spoiling, by name, and what is asked of the engine for each. The table is the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from replaying import document_side as document
from replaying import patch_side as patch
from replaying import patches, slips, together
from replaying.patches import Maker
from replaying.spoiled import Spoiler


class Duty(Enum):
    """What is asked of the engine; whatever it is, other bytes than the right ones are wrong."""

    PLAIN = "lands, 99 %"
    LANDS = "lands, 97 %"
    MAY = "right or refused"
    REFUSED = "refused"


@dataclass(frozen=True)
class Class:
    """A way to spoil one hunk, or to make a patch of several."""

    name: str
    duty: Duty
    spoil: Spoiler | None = None
    make: Maker | None = None


NOT_UNIQUE = Class("plain, old text not unique", Duty.MAY, patch.plain)

CLASSES: tuple[Class, ...] = (
    Class("plain", Duty.PLAIN, patch.plain),
    Class("no context at all", Duty.PLAIN, together.no_context),
    Class("context on one side", Duty.PLAIN, together.context_on_one_side),
    Class("line number far off", Duty.PLAIN, patch.wrong_hint),
    Class("unified diff, wrong numbers", Duty.PLAIN, patch.wrong_numbers),
    Class("unified diff, no numbers", Duty.PLAIN, patch.no_numbers),
    Class("blank context without its space", Duty.PLAIN, patch.bare_blanks),
    Class("V4A in wrappers, and indented", Duty.PLAIN, patch.wrapped),
    Class("unified diff in wrappers", Duty.PLAIN, patch.wrapped_diff),
    Class("rows without their blank", Duty.PLAIN, patch.rows_without_blank),
    Class("doubled dividers", Duty.PLAIN, patch.doubled_divider),
    Class("block markers of other kinds", Duty.PLAIN, patch.other_markers),
    Class("escapes that are meant", Duty.PLAIN, patch.meant_escapes),
    Class("trailing blanks in the patch", Duty.PLAIN, patch.trailing_blanks),
    Class("trailing blanks in the search text only", Duty.PLAIN, patch.trailing_blanks_uneven),
    Class("trailing blanks in the document", Duty.PLAIN, document.trailing_blanks),
    Class("dedented", Duty.PLAIN, patch.dedented),
    Class("first line without its indentation, the rest exact", Duty.PLAIN, patch.from_first_word),
    Class("other indentation step", Duty.PLAIN, patch.other_step),
    Class("spaces for tabs", Duty.PLAIN, patch.spaces_for_tabs),
    Class("spaces for tabs, in a document converted to tabs", Duty.PLAIN, document.tabs),
    Class("tabs for spaces", Duty.PLAIN, patch.tabs_for_spaces),
    Class("blank line missing", Duty.PLAIN, patch.blank_missing),
    Class("blank line extra", Duty.PLAIN, patch.blank_extra),
    Class("blank line extra at the edges", Duty.PLAIN, patch.blank_edges),
    Class("CRLF document", Duty.PLAIN, document.crlf),
    Class("CR document", Duty.PLAIN, document.cr),
    Class("mixed line ends", Duty.PLAIN, document.mixed_ends),
    Class("CRLF patch", Duty.PLAIN, patch.crlf_patch),
    Class("byte order mark, UTF-16", Duty.PLAIN, document.byte_order_mark),
    Class("form feeds, U+2028", Duty.PLAIN, document.form_feeds),
    Class("no final newline", Duty.PLAIN, document.no_final_newline),
    Class("CRLF document, dedented", Duty.PLAIN, together.crlf_and_dedented),
    Class("numbered rows", Duty.PLAIN, slips.numbered),
    Class("numbered rows, replacement only", Duty.PLAIN, slips.numbered_added),
    Class("other spacing between the words of a line", Duty.PLAIN, slips.spaced_rows),
    Class("replacement at the document's depth", Duty.PLAIN, slips.at_depth),
    Class("an empty line too many in the search text, one added elsewhere", Duty.PLAIN, slips.gap_changed),
    Class("an empty line missing in the search text only", Duty.PLAIN, slips.gap_forgotten),
    Class("placeholder rows", Duty.REFUSED, slips.placeholder),
    Class("the scope names another function or class", Duty.REFUSED, slips.other_scope),
    Class("smart quotes in the search text", Duty.LANDS, patch.smart_quotes),
    Class("smart quotes throughout the patch", Duty.LANDS, patch.smart_quotes_throughout),
    Class("smart quotes in the document", Duty.LANDS, document.smart_quotes),
    Class("no-break spaces, dashes in the patch", Duty.LANDS, patch.odd_blanks_and_dashes),
    Class("no-break spaces, dashes in the document", Duty.LANDS, document.odd_blanks_and_dashes),
    Class("indentation, quotes and blanks together", Duty.LANDS, together.badly_copied),
    Class("literal escapes: quotes", Duty.LANDS, patch.literal_quotes),
    Class("literal escapes: tabs", Duty.LANDS, patch.literal_tabs),
    Class("literal escapes: everything", Duty.LANDS, patch.literal_everything),
    Class("already applied", Duty.LANDS, document.already),
    Class("already applied, removals only", Duty.MAY, document.already_removed),
    Class("stale context", Duty.MAY, document.stale),
    Class("one token off, kept row", Duty.MAY, patch.token_off),
    Class("one token off, and another indentation", Duty.MAY, together.badly_remembered),
    Class("a similar block nearby, which differs in two words", Duty.PLAIN, together.sibling),
    Class(
        "a similar block nearby, each differs from the search text",
        Duty.MAY,
        together.sibling_and_stale,
    ),
    Class("the lines are gone, a block nearby begins and ends alike", Duty.REFUSED, together.decoy),
    Class("the rows are gone", Duty.REFUSED, together.gone),
    Class("one token off, removed row", Duty.REFUSED, patch.token_off_removed),
    Class("spacing inside a string, kept row", Duty.MAY, patch.spaced_string_kept),
    Class("spacing inside a string, removed row", Duty.REFUSED, patch.spaced_string),
    Class("half the lines fabricated", Duty.MAY, patch.fabricated),
    Class("elided middle", Duty.MAY, patch.elided),
    Class("twice, right line", Duty.LANDS, document.twice_with_line),
    Class("twice, near line", Duty.LANDS, document.twice_with_near_line),
    Class("twice, far line", Duty.REFUSED, document.twice_with_far_line),
    Class("twice, line just between", Duty.REFUSED, document.twice_with_tie),
    Class("twice, no line", Duty.REFUSED, document.twice),
    Class("twice, V4A scope", Duty.LANDS, document.twice_with_scope),
    Class("Latin-1, encoding not named", Duty.REFUSED, document.latin_1),
    Class("empty search", Duty.REFUSED, patch.empty_search),
    Class("blank search", Duty.REFUSED, patch.blank_search),
    Class("no change", Duty.REFUSED, patch.no_change),
    Class("markers in the body", Duty.LANDS, document.markers),
    Class("markers in the body, not escaped", Duty.MAY, document.markers_bare),
    Class("replace all", Duty.LANDS, make=patches.replace_all),
    Class("replace all, lookalikes", Duty.LANDS, make=patches.replace_all_lookalikes),
    Class("replace all, only lookalikes", Duty.REFUSED, make=patches.only_lookalikes),
    Class("V4A, several hunks", Duty.LANDS, make=patches.several_hunks),
    Class("V4A, hunks out of order", Duty.LANDS, make=patches.out_of_order),
    Class("V4A, several files", Duty.LANDS, make=patches.several_files),
    Class("V4A, one bad hunk", Duty.REFUSED, make=patches.one_bad_hunk),
    Class("V4A, additions below a scope", Duty.LANDS, make=patches.additions_below_scope),
    Class("V4A, additions at the end", Duty.LANDS, make=patches.additions_at_end),
    Class("V4A, Add, Move and Delete", Duty.LANDS, make=patches.add_move_delete),
    Class("V4A, files in the way", Duty.REFUSED, make=patches.files_in_the_way),
    Class("replace, several hunks", Duty.LANDS, make=patches.several_replacements),
    Class("replace, one bad hunk", Duty.REFUSED, make=patches.one_bad_replacement),
    Class("SEARCH/REPLACE, several blocks and files", Duty.LANDS, make=patches.several_blocks),
    Class("unified diff, several files", Duty.LANDS, make=patches.several_diffs),
)
