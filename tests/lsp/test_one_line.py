"""A file name with line ends cannot add lines to what an editor shows."""

from handrail.core.documents import diff
from handrail.core.documents.text import Text
from handrail.core.failure import Code
from handrail.core.ledger import report
from handrail.lsp.convert import Converter


def test_a_diagnostic_is_one_line() -> None:
    known = report.Diagnostic(
        failure="f-1",
        uri="file:///a",
        code=Code.NO_SUCH_FILE,
        message="The file d/x\n\x1b[31mFORGED does not exist.",
        severity=report.Severity.WARNING,
        near=(),
        text=None,
        choices=(),
    )
    shown = Converter(encoding="utf-16").diagnostic(known).message
    assert shown == "The file d/x⏎\\x1b[31mFORGED does not exist."


def test_a_name_with_control_characters_is_quoted_in_a_diff_as_git_does() -> None:
    shown = diff.creation_diff('d/x\n+"é\x01', Text("one\n"))
    assert shown == '--- /dev/null\n+++ "b/d/x\\n+\\"é\\001"\n@@ -0,0 +1,1 @@\n+one\n'
    assert diff.side("a", 'd/"x') == 'a/d/"x'
