"""
Recognise the keys of an environment by their names, and passwords in URLs.

A password may be a word that occurs in ordinary text: a default that everyone knows (`postgres`), or the name
of its own user or database. Such a word is a key only where it is used as one (`:postgres@`,
`password=postgres`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from handrail.core.policy.environment import LOGIN
from handrail.core.results.redact import SHORTEST_CHARS, local_secret

KEY_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|AUTH|SECRET)?_?"
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PAT|CREDENTIAL|CRED|DSN|WEBHOOK|JWT|COOKIE)S?(?:_|$)"
    r"|PASSWORD$|SSHPASS$|_PWD$|^PGPASS",
    re.IGNORECASE,
)


DEFAULT_PASSWORDS = """
    administrator changeit change_me change-me changeme changethis database dbpassword default-password
    development disabled example-password guestguest insecure keycloak localhost localpassword localdev
    minioadmin mongodb mypassword mysecretpassword p@ssw0rd passw0rd password password1 password12 password123
    placeholder postgres postgresql postgrespw rabbitmq redispassword rootpassword rootroot secretpassword
    supersecret superuser testpassword testtest undefined username x-oauth-basic x-token-auth
"""
DEFAULTS = frozenset(DEFAULT_PASSWORDS.split())
NAME_OF_USER = re.compile(
    r"(?:^|_)(?:USER|USERNAME|LOGNAME|DATABASE|DB|DBNAME|DB_NAME)$|^PG(?:USER|DATABASE)$", re.IGNORECASE
)
PLAIN = re.compile(r"[A-Za-z][a-z]{0,15}(?:[-_.][A-Za-z][a-z]{0,15}){0,3}[0-9]{0,4}")
NAMES_OF_PASSWORDS = tuple(
    spelled
    for name in ("password", "passwd", "secret", "token")
    for spelled in (name, name.upper(), name.capitalize())
)
ASSIGNED = ("{}=", "{}='", '{}="', "{} = ", "{} = '", '{} = "', "{}: ", "{}: '", '{}: "', '"{}": "', '"{}":"')


def secrets(environment: Mapping[str, str], also: str = "") -> tuple[str, ...]:
    """The values of *environment* that are keys by name, or called *also*; and passwords in URLs."""
    return _keys_among(tuple(environment.items()), also)


@lru_cache(maxsize=4)
def _keys_among(variables: tuple[tuple[str, str], ...], also: str) -> tuple[str, ...]:
    result: dict[str, None] = {}
    logins = [login for _, value in variables for login in LOGIN.finditer(value)]
    known = {value.strip() for name, value in variables if NAME_OF_USER.search(name)}
    known |= {login["user"] for login in logins}
    for name, value in variables:
        if name == also:
            result |= dict.fromkeys([key] if len(key := value.strip()) >= SHORTEST_CHARS else [])
        elif KEY_NAME.search(name):
            result |= dict.fromkeys(_keys_of(name, value.strip(), known))
    for login in logins:
        result |= dict.fromkeys(_keys_of("", login["password"], known))
    return tuple(result)


def _keys_of(name: str, value: str, known: Collection[str]) -> Iterator[str]:
    """
    Yields *value*, or the places where it is a key if it is a word that occurs in ordinary text.

    Args:
        name: Of its variable, if it is all of that.
        known: The names of users and databases.
    """
    if len(value) < SHORTEST_CHARS:
        return
    if value.lower() not in DEFAULTS and not (value in known and PLAIN.fullmatch(value)):
        yield value
        return
    yield local_secret(":", value, "@")
    own = () if name.endswith(NAMES_OF_PASSWORDS) else (name,)
    for each in filter(None, (*NAMES_OF_PASSWORDS, *own)):
        for assigned in ASSIGNED:
            yield local_secret(assigned.format(each), value)
