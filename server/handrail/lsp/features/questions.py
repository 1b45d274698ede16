"""List, show and answer the questions to the user; their code actions; the rules that answers have added."""

from __future__ import annotations

from lsprotocol import types as lsp

from handrail.agent import grants, outputs
from handrail.agent.questions import OpenQuestion
from handrail.agent.tools import kind_of
from handrail.core import surfaces
from handrail.lsp import protocol
from handrail.lsp.features import actions
from handrail.lsp.questions import words
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams, Refused
from handrail.ports import DENY

OUTPUT = "output-of-command.md"
LIMIT_SHOWN = 20  # questions of which every document has code actions


async def list_(state: State, params: protocol.ApprovalListParams) -> list[protocol.Approval]:
    """The open questions, the oldest first."""
    return [words.approval(each, state.questions.seconds_left(each)) for each in state.questions.open]


async def answer(state: State, params: protocol.ApprovalAnswerParams) -> None:
    """Answer an open question."""
    asked = state.questions.find(params.approval)
    if not asked.question.takes(params.choice):
        choices = ", ".join(map(repr, asked.question.choices))
        raise InvalidParams(f"params.choice must be one of {choices}, not {params.choice!r}.")
    state.questions.answer(params.approval, params.choice)


async def show(state: State, params: protocol.ApprovalShowParams) -> protocol.ServedDocument:
    """Write the document of an open question."""
    if params.approval is not None:
        asked = state.questions.find(params.approval)
    elif state.questions.open:
        asked = state.questions.open[0]
    else:
        raise Refused("No question is open.")
    uri, text = await state.question_documents.write(asked)
    return protocol.ServedDocument(uri=uri, text=text)


def tell(state: State, document: protocol.ServedDocument) -> None:
    """Have the editor open a document: it drops the result of a command."""
    state.begin(state.open_document(document.uri))


def code_actions(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """
    Returns the code actions for open questions.

    The document of a question has its choices, no first; every document has *Show* and *No* for each
    question. A yes is offered only where the whole question is in front of the user.
    """
    if not actions.wants_fixes(params):
        return []
    shown = state.question_documents.question_of(params.text_document.uri)
    result: list[lsp.CodeAction] = []
    for asked in state.questions.open[:LIMIT_SHOWN]:
        if asked.id == shown and state.question_documents.shows_all(asked):
            result = [*_choices(asked), *result]
        else:
            state.begin(state.question_documents.restore(asked))
            result += _other_actions(asked)
    return result


def _choices(asked: OpenQuestion) -> list[lsp.CodeAction]:
    return [
        _action(words.choice_title(asked.question, choice), asked, choice)
        for choice in asked.question.choices
    ]


def _other_actions(asked: OpenQuestion) -> list[lsp.CodeAction]:
    title = words.title(asked.question)
    shows = actions.action(
        f"Show handrail's question: {title}", protocol.APPROVAL_SHOW, {"approval": asked.id}
    )
    return [shows, _action(f"{words.title_of_no(asked.question)}: {title}", asked, DENY)]


def _action(title: str, asked: OpenQuestion, choice: str) -> lsp.CodeAction:
    return actions.action(title, protocol.APPROVAL_ANSWER, {"approval": asked.id, "choice": choice})


# ---- What answers leave behind ------------------------------------------------------------------------


async def list_rules(state: State, params: protocol.RuleListParams) -> list[protocol.RuleInfo]:
    """The rules that answers have added."""
    return [
        protocol.RuleInfo(
            id=each.id,
            text=each.grant.in_words(kind_of(each.grant.tool)),
            tool=each.grant.tool,
            scope="session" if each.session is not None else "workspace",
            session=each.session,
        )
        for each in await grants.list_grants(state.host.granted, state.backend.grants)
    ]


async def remove_rule(state: State, params: protocol.RuleRemoveParams) -> None:
    """Remove a rule that an answer has added."""
    await grants.remove_grant(state.host.granted, state.backend.grants, params.rule)


async def show_output(state: State, params: protocol.OutputShowParams) -> protocol.ServedDocument:
    """Write a document that shows what a command has printed."""
    sessions = state.host.sessions.values()
    output = outputs.output((message for each in sessions for message in each.messages), params.call)
    parts = ("# Output of a command", surfaces.block(output.line, "sh"), surfaces.block(output.text, "text"))
    text = "\n\n".join(parts) + "\n"
    written = await state.backend.served.write(OUTPUT, text)
    if written.note:
        state.say(written.note)
    return protocol.ServedDocument(uri=written.uri, text=text)
