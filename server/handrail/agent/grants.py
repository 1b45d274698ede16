"""
Lists and removes the rules that answers to questions have added.

Rules of a session end with the server; those of the workspace are stored by the Grants port.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from handrail.core.policy.grants import Grant
from handrail.ports import Grants, HandrailError
from handrail.ports.errors import SEE_LOG
from handrail.values import dataclass


class UnknownGrantError(HandrailError):
    """A client named a rule that does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGrant:
    """A rule that an answer added; *session* is None for a permanent rule of the workspace."""

    grant: Grant
    session: str | None

    @property
    def id(self) -> str:
        """The same for the same rule, in every server."""
        named = "\0".join((self.session or "", self.grant.tool, self.grant.subject))
        return f"rule-{hashlib.sha256(named.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


async def list_grants(granted: Mapping[str, set[Grant]], grants: Grants) -> tuple[ListedGrant, ...]:
    """Returns all rules: those of the workspace first, then those of the sessions, by *granted*."""
    lasting = await grants.load()
    rules = [ListedGrant(grant=grant, session=None) for grant in _sort(lasting)]
    for session, of_session in granted.items():
        rules += [ListedGrant(grant=grant, session=session) for grant in _sort(of_session - lasting)]
    return tuple(rules)


async def remove_grant(granted: Mapping[str, set[Grant]], grants: Grants, rule: str) -> None:
    """Removes a rule. Raises UnknownGrantError."""
    found = next((each for each in await list_grants(granted, grants) if each.id == rule), None)
    if found is None:
        raise UnknownGrantError(f"Rule {rule!r} does not exist.")
    if found.session is not None:
        granted[found.session].discard(found.grant)
        return
    await grants.remove(frozenset({found.grant}))
    for of_session in granted.values():
        of_session.discard(found.grant)
    if found.grant in await grants.load():
        raise UnknownGrantError(f"Rule {rule!r} could not be removed from the file that stores it. {SEE_LOG}")


def _sort(grants: set[Grant] | frozenset[Grant]) -> list[Grant]:
    return sorted(grants, key=lambda grant: (grant.tool, grant.subject))
