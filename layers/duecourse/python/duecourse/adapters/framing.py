"""The length of a response that `http.client` reads. It accepts lengths that are ambiguous: another recipient would end
the response elsewhere, and take the rest for the next response of the connection.
"""

from __future__ import annotations

import re
from http.client import HTTPException, HTTPResponse

from duecourse.limits import LENGTH_DIGITS

_LENGTH = re.compile(f"[0-9]{{1,{LENGTH_DIGITS}}}")


class UnreadableError(HTTPException):
    """The response is not valid HTTP, but `http.client` did not raise an HTTPException."""


def check_framing(response: HTTPResponse) -> None:
    """Check the length of a response whose headers were read (RFC 9112, 6.3). Raises UnreadableError if it is invalid,
    repeated with another value, or replaced by a transfer coding other than `chunked`.
    """
    codings, lengths = (response.headers.get_all(name) for name in ("transfer-encoding", "content-length"))
    if codings is not None:
        if not response.chunked or len(codings) > 1:
            raise UnreadableError
        if lengths is not None:
            response.will_close = True
    elif lengths is not None:
        length, *others = {each.strip(" \t\r\n") for each in ",".join(lengths).split(",")}
        if others or not _LENGTH.fullmatch(length):
            raise UnreadableError
        if response.length is None:  # `http.client` does not read `5, 5`
            response.length = int(length)
