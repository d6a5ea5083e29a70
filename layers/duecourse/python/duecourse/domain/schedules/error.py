"""The one exception of this package."""

from __future__ import annotations


class ScheduleError(ValueError):
    """A schedule that is rejected.

    Attributes:
        field: the wrong one: ``schedule``, ``timezone``, ``dst_gap``, ``dst_fold``, ``start``, ``end`` or ``anchor``.
        detail: one clear sentence that says what is wrong and what to write instead.

    """

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail

    def __reduce__(self) -> tuple[type[ScheduleError], tuple[str, str]]:
        """Pickle by the two arguments: the default would pass the joined message as one."""
        return type(self), (self.field, self.detail)


def refuse(detail: str) -> ScheduleError:
    """An error about the expression itself."""
    return ScheduleError("schedule", detail)


def shown(text: str, limit: int = 40) -> str:
    """A piece of the caller's text, quoted and shortened, for use in a message."""
    return f'"{printable(text)}"' if len(text) <= limit else f'"{printable(text[: limit - 3])}..."'


def printable(text: str) -> str:
    r"""The text with what cannot be printed written as ``\x1b`` or ``\u202e``: control characters, those that turn the
    direction of what follows, halves of surrogate pairs, which no UTF-8 can carry.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
