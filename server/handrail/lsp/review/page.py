"""The review document in one client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from handrail.agent.review.discussion import Discussion
from handrail.core.documents import remarks as on_page
from handrail.core.documents.page import Page, Part
from handrail.core.review import comments
from handrail.lsp.served.page import ServedPage
from handrail.values import dataclass, field, replace

NAME = "review.md"


def _unset() -> Discussion:
    raise AssertionError("the discussion is set by the state")


@dataclass
class ReviewPage(ServedPage):
    """
    The review document.

    Attributes:
        discussion: What it shows.
        sending: Held while comments are sent, so that none is sent twice.
        turned: Told that it holds something other than before, so that the comments may be others.
    """

    name: str = NAME
    discussion: Callable[[], Discussion] = _unset
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    turned: Callable[[], None] = lambda: None

    @property
    def page(self) -> Page:
        """The page, as far as it is known."""
        return self.discussion().page

    @page.setter
    def page(self, now: Page) -> None:
        discussion = self.discussion()
        is_other = now is not discussion.page
        discussion.page = now
        if is_other:
            self.turned()

    @property
    def parts(self) -> Sequence[Part]:
        """Turns, documents and changes, and what was said of them."""
        return self.discussion().shown.parts

    async def prepare(self, page: Page) -> None:
        """Have the discussion be of what is pending now."""
        await self.discussion().refresh(page)

    def clean(self, page: Page) -> Page:
        """The page without comments that were sent."""
        return on_page.remove_remarks(page, self.discussion().old())

    def as_json(self) -> str:
        """Returns the subjects of comments, and the comments that were sent, to be stored."""
        discussion = self.discussion()
        return comments.as_json(discussion.commented_subjects(), discussion.sent)

    def load_state(self, kept: str) -> None:
        """Take over what comments are about, and those that were sent. Raises ValueError."""
        subjects, sent = comments.read(kept)
        discussion = self.discussion()
        # A turn that ran then has ended with its server.
        discussion.sent = [replace(each, state=each.state or "stopped") for each in sent]
        discussion.subjects = {each.key: each for each in subjects}
