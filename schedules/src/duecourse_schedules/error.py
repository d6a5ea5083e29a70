"""The exception of this package."""

from __future__ import annotations


class ScheduleError(ValueError):
    """A schedule that is rejected.

    Attributes:
        field: the invalid field: ``schedule``, ``timezone``, ``dst_gap``, ``dst_fold``, ``start``, ``end`` or
            ``anchor``.
        detail: one clear sentence with the fault and the remedy.
        index: the position of the invalid schedule if there are several; None if there is only one, or if the fault
            concerns all of them.

    """

    def __init__(self, field: str, detail: str, index: int | None = None) -> None:
        super().__init__(f"{field if index is None else f'{field}[{index}]'}: {detail}")
        self.field = field
        self.detail = detail
        self.index = index

    @property
    def pointer(self) -> str:
        """The JSON pointer of the invalid value: ``/schedule``, or ``/schedule/1`` for the second of several."""
        return f"/{self.field}" if self.index is None else f"/{self.field}/{self.index}"

    def __reduce__(self) -> tuple[type[ScheduleError], tuple[str, str, int | None]]:
        """Pickle with the arguments. The default would pass the joined message as one argument."""
        return type(self), (self.field, self.detail, self.index)


def refuse(detail: str) -> ScheduleError:
    """Return an error about the expression itself."""
    return ScheduleError("schedule", detail)


def shown(text: str, limit: int = 40) -> str:
    """Return a part of the caller's text, quoted and shortened, for a message."""
    return f'"{printable(text)}"' if len(text) <= limit else f'"{printable(text[: limit - 3])}..."'


def printable(text: str) -> str:
    r"""Return the text with unprintable characters escaped as ``\x1b`` or ``\u202e``: control characters, characters
    that change the text direction, and halves of surrogate pairs, which UTF-8 cannot encode.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
