"""The data that a target receives about its run, the part of its response that is kept, and the redaction of secrets.

Secrets are replaced by `***` in everything that is kept of a call. All secrets are found in one pass (Aho and Corasick,
1975): the time grows with the sum of the sizes of data and secrets, not with their product.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

import orjson

from duecourse.adapters.aws.tracing import trace_header, trace_headers
from duecourse.adapters.targets.aws.names import deduplication_id
from duecourse.domain.runs.rendering import render_document
from duecourse.domain.targets.targets import MAX_RETRY_AFTER_SECONDS
from duecourse.ports import Call

Span = tuple[int, int]
"""The start and end of a range."""

HIDDEN = "***"

MAX_FORMS_BYTES = 32 * 1024
"""The maximum size of all forms of all secrets together. A search for more takes too much time and memory, so in that
case nothing of a response is kept.
"""


class Automaton:
    """Finds words, none of them empty, in bytes."""

    __slots__ = ("_beginnings", "_depths", "_fallbacks", "_found", "_steps")

    def __init__(self, words: Iterable[bytes]) -> None:
        """Build the automaton. A state is a prefix of a word, and state 0 is the empty prefix. `_steps` maps state *
        256 + byte to the next state.
        """
        self._steps: dict[int, int] = {}
        self._depths = [0]
        self._found = [0]  # length of the longest word that ends in a state
        children: list[list[tuple[int, int]]] = [[]]
        for word in words:
            state = 0
            for byte in word:
                key = state << 8 | byte
                following = self._steps.get(key)
                if following is None:
                    following = self._steps[key] = len(self._depths)
                    children[state].append((byte, following))
                    children.append([])
                    self._depths.append(self._depths[state] + 1)
                    self._found.append(0)
                state = following
            self._found[state] = len(word)
        self._beginnings = re.compile(b"[" + re.escape(bytes(byte for byte, _ in children[0])) + b"]")
        self._fallbacks = [0] * len(self._depths)
        self._fall_back(children)

    def _fall_back(self, children: list[list[tuple[int, int]]]) -> None:
        """Set the fallback of each state: the longest other state that is a suffix of it. Shallow states come first."""
        pending = deque(state for _, state in children[0])
        while pending:
            parent = pending.popleft()
            for byte, state in children[parent]:
                fallback = self._step(self._fallbacks[parent], byte)
                self._fallbacks[state] = fallback
                self._found[state] = max(self._found[state], self._found[fallback])
                pending.append(state)

    def _step(self, state: int, byte: int) -> int:
        while state and (state << 8 | byte) not in self._steps:
            state = self._fallbacks[state]
        return self._steps.get(state << 8 | byte, 0)

    def spans(self, data: bytes) -> tuple[list[Span], int]:
        """Return the ranges of words, in order and with overlapping ranges merged, and the number of bytes at the end
        that are the prefix of a word.
        """
        first = self._beginnings.search(data)  # nearly all short strings do not even contain this
        if first is None:
            return [], 0
        spans: list[Span] = []
        steps, fallbacks, found = self._steps, self._fallbacks, self._found
        state = 0
        for end, byte in enumerate(data[first.start() :], first.end()):
            while (following := steps.get(state << 8 | byte)) is None and state:
                state = fallbacks[state]
            state = following or 0
            if length := found[state]:
                start = end - length
                while spans and spans[-1][1] > start:
                    start = min(start, spans.pop()[0])
                spans.append((start, end))
        return spans, self._depths[state]


class Redaction:
    """Hides secrets in their plain form and as JSON, URLs and HTML encode them. It does not protect against a target
    that discloses secrets intentionally: such a target already has them.

    The time grows with the sum of the sizes of data and secrets, not with their product: about 0.1 s for 256 KB.
    """

    __slots__ = ("_automaton", "_everything")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Empty secrets are ignored. Secrets of one or two characters hide more than themselves."""
        forms: set[bytes] = set()
        size = 0
        for secret in secrets:
            if secret.strip() and size <= MAX_FORMS_BYTES:
                new = {data for form in _forms(secret) for data in _encodings(form)} - forms
                size += sum(map(len, new))
                forms |= new
        self._everything = size > MAX_FORMS_BYTES
        self._automaton = Automaton(forms) if forms and not self._everything else None

    def text(self, text: str) -> str:
        """Return the text without the secrets."""
        return self.data(text.encode(errors="replace")).decode(errors="replace")

    def data(self, data: bytes, *, broken_off: bool = False) -> bytes:
        """Return bytes of an unknown encoding without the secrets. If the bytes were cut (`broken_off`), an end that
        may be the prefix of a secret is removed too.
        """
        if self._everything:
            return HIDDEN.encode()
        if self._automaton is None:
            return data
        spans, begun = self._automaton.spans(data)
        parts: list[bytes] = []
        kept = 0
        for start, end in spans:
            parts += (data[kept:start], HIDDEN.encode())
            kept = end
        end = len(data) - begun if broken_off else len(data)
        return b"".join((*parts, data[kept:end]))

    def value(self, value: Any) -> Any:
        """Return a JSON value without the secrets, including names of fields and numbers."""
        if self._everything:
            return HIDDEN
        return value if self._automaton is None else self._value(value)

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(name): self._value(inside) for name, inside in value.items()}
            case list():
                return [self._value(inside) for inside in value]
            case None | bool():
                return value
            case _:
                return value if self.text(written := str(value)) == written else HIDDEN


def _forms(secret: str) -> set[str]:
    written = orjson.dumps(secret).decode()[1:-1]
    ascii_only = "".join(char if char.isascii() else _escaped(char) for char in written)
    encoded = {quote(secret, safe=""), quote(secret), quote_plus(secret), escape(secret), escape(secret, quote=False)}
    return {secret, secret.strip(), written, ascii_only, ascii_only.replace("/", "\\/")} | encoded


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _encodings(form: str) -> Iterable[bytes]:
    """Yield the encodings of a form. Responses are UTF-8, but headers are sent, and may be returned, in Latin-1."""
    yield form.encode()
    if not form.isascii() and max(form) <= "\xff":
        yield form.encode("latin-1")


_SECONDS = re.compile(r"\d+", re.ASCII)

READ_BYTES = 256 * 1024
"""Maximum number of bytes kept from a response. A large result is in the result store, not in the run's record."""

EXCERPT_CHARACTERS = 200
_LOOKED_AT_BYTES = 16 * 1024
_NOTHING = Redaction()


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """Return the seconds from `now` (UTC seconds) after which the target requests a retry, at most
    MAX_RETRY_AFTER_SECONDS, or None if there is no valid header. A date without a zone is in UTC (RFC 9110, 5.6.7).
    """
    if value is None:
        return None
    text = value.strip()
    try:
        wish = float(text) if _SECONDS.fullmatch(text) else _utc(parsedate_to_datetime(text)).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return min(max(wish, 0.0), MAX_RETRY_AFTER_SECONDS)


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def kept(status: int, body: bytes, *, json: bool, redaction: Redaction = _NOTHING) -> dict[str, Any]:
    """Return the result of a run: `{"status": 200, "body": ...}`. The body is the value of its JSON, or else its text.
    A body of more than 256 KB is reduced to the beginning of its text, with `"truncated": true`. Callers read one byte
    more than that to detect it.
    """
    if not body:
        return {"status": status, "body": None}
    if len(body) > READ_BYTES:
        beginning = redaction.data(body[:READ_BYTES], broken_off=True)
        return {"status": status, "body": cut(beginning, READ_BYTES), "truncated": True}
    if json:
        try:
            value = orjson.loads(body)
            orjson.dumps(value)  # orjson reads deeper nesting than it writes, and the result must be written
        except (orjson.JSONDecodeError, TypeError):
            pass
        else:
            return {"status": status, "body": redaction.value(value)}
    return {"status": status, "body": cut(redaction.data(body), READ_BYTES)}


def cut(data: bytes | str, limit: int) -> str:
    """Return text of at most `limit` bytes of UTF-8. Invalid UTF-8 becomes U+FFFD."""
    text = data if isinstance(data, str) else data[:limit].decode(errors="replace")
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def excerpt(body: bytes, redaction: Redaction) -> str:
    """Return the beginning of a response on one line for an error message, without the secrets that it may repeat."""
    shown = redaction.data(body[:_LOOKED_AT_BYTES], broken_off=len(body) > _LOOKED_AT_BYTES)
    text = cut(shown, _LOOKED_AT_BYTES)
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= EXCERPT_CHARACTERS else f"{line[: EXCERPT_CHARACTERS - 3]}..."


def run_headers(call: Call) -> dict[str, str]:
    """Return the headers for targets that are called over HTTP."""
    headers = {
        "X-Duecourse-Run-Id": call.values["run_id"],
        "X-Duecourse-Job-Id": call.values["job_id"],
        "X-Duecourse-Tenant": call.values["tenant"],
        "X-Duecourse-Scheduled-At": call.values["scheduled_at"],
        "X-Duecourse-Attempt": call.values["attempt"],
        "Idempotency-Key": call.idempotency_key,
    }
    if call.callback_token is not None:
        headers["X-Duecourse-Token"] = call.callback_token
    return headers


def tracing_headers(call: Call) -> dict[str, str]:
    """Return the headers that link the target's logs to the run, and its trace to this invocation. A job may replace
    them.
    """
    named = {} if call.run.correlation_id is None else {"X-Correlation-Id": call.run.correlation_id}
    return named | trace_headers(trace_header())


def run_event(call: Call) -> dict[str, Any]:
    """Return the event for targets that receive one JSON document, with the rendered payload. Raises TemplateError.

    `correlation_id` is included if the run has one. `callback` has the token that completes the run, and the run's id
    in the API.
    """
    event = {
        **{name: call.values[name] for name in ("run_id", "job_id", "tenant", "scheduled_at", "due_at")},
        "attempt": call.run.attempt,
        "idempotency_key": call.idempotency_key,
        "payload": render_document(call.job.payload, call.values),
    }
    if call.run.correlation_id is not None:
        event["correlation_id"] = call.run.correlation_id
    if call.callback_token is not None:
        event["callback"] = {"token": call.callback_token, "run": call.run.run_id}
    return event


def message_text(call: Call) -> str:
    """Return the event as JSON.

    JSON may contain U+FFFE and U+FFFF, which a message may not (Amazon SQS API Reference, "SendMessage"). They are
    written as escapes, which have the same meaning.
    """
    text = orjson.dumps(run_event(call)).decode()
    return text.replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff")


def message_attributes(call: Call) -> dict[str, Any]:
    """Return run, job and tenant as the message attributes that receivers and subscriptions can filter by."""
    words = {"run_id": call.run.run_id, "job_id": call.run.job_id, "tenant": call.run.tenant}
    return {name: {"DataType": "String", "StringValue": word} for name, word in words.items()}


def group_fields(call: Call, name: str, group: str | None) -> dict[str, str]:
    """Return the group and deduplication id of a message to the queue or topic `name`.

    A FIFO queue or topic (`….fifo`) needs both, and by default each job is a group. A standard one has a group only if
    the job defines it, as a hint for fairness between groups.
    """
    fields = {}
    fifo = name.endswith(".fifo")
    if group is not None:
        fields["MessageGroupId"] = group
    elif fifo:
        fields["MessageGroupId"] = call.run.job_id
    if fifo:
        fields["MessageDeduplicationId"] = deduplication_id(call)
    return fields
