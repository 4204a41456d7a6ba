"""What can go wrong, as exceptions that say it in a sentence."""

from __future__ import annotations

from typing import Any


class RingtapError(Exception):
    """Base of all of them."""


class Unreachable(RingtapError):
    """Nobody answers there, or the answer broke off."""


class WrongCertificate(Unreachable):
    """The console has another certificate than the one that was named. Nothing was sent to it."""


class Problem(RingtapError):
    """The console refused a request (RFC 9457). As a text it is what was wrong and what would be right."""

    def __init__(self, status: int, given: dict[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.type: str = given.get("type") or "about:blank"
        self.title: str = given.get("title") or f"status {status}"
        self.detail: str = given.get("detail") or self.title
        self.remedy: str | None = given.get("remedy")
        self.column: int | None = given.get("column")
        """Of a search that cannot be read: where, in characters from 1."""
        self.length: int | None = given.get("length")
        self.right: str | None = given.get("right")
        """The right that is lacking."""
        self.retry_after = retry_after
        """Seconds to wait before the next attempt, where the console said so."""
        detail = self.detail.rstrip(".")
        super().__init__(f"{detail}: {self.remedy}" if self.remedy else detail)


class NotLoggedIn(Problem):
    """There is no token, or it has expired (401)."""


class Forbidden(Problem):
    """A right is lacking, which `right` names, or the token does not reach so far (403)."""


class NotFound(Problem):
    """It is not there, or outside of one's scope (404)."""


class NotPossible(Problem):
    """It cannot be done in this state, such as the sound of a call of which none was recorded (409)."""


class TooMany(Problem):
    """Others search, or too many attempts were made: `retry_after` says when to try again (429)."""


class Unavailable(Problem):
    """The daemon, the database, the spool or the audit log does not answer (503)."""


class Incomplete(UserWarning):
    """A list is not all that there is: the search reached its time limit."""


BY_STATUS: dict[int, type[Problem]] = {
    401: NotLoggedIn,
    403: Forbidden,
    404: NotFound,
    409: NotPossible,
    429: TooMany,
    503: Unavailable,
}


def problem_of(status: int, given: Any, retry_after: str | None = None) -> Problem:
    """The exception for a failed answer, whether or not it is a problem document."""
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else None
    return BY_STATUS.get(status, Problem)(status, given if isinstance(given, dict) else {}, seconds)
