"""What a target receives about its run, what is kept of its response, and the redaction of secrets in it.

Secrets are replaced by `***` in whatever is kept of a call.

Many words are found in one pass (Aho and Corasick, 1975): time grows with the data and the words, not with their
product, whatever they are.

What is kept of a target's response, what is said about a bad one, and when it asks to be called again.

What a target receives about the run that calls it; of queues and topics, the message and its group.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

import orjson

from duecourse.adapters.aws.tracing import trace_header, trace_headers
from duecourse.adapters.targets.aws.names import deduplication_id
from duecourse.domain.instants import to_iso
from duecourse.domain.runs.rendering import render_document, values_for
from duecourse.domain.targets.template import render_template
from duecourse.ports import Call

Span = tuple[int, int]
"""Where something begins and ends."""

HIDDEN = "***"

MAX_FORMS_BYTES = 32 * 1024
"""Of all forms of all secrets together. What is beyond takes too much time and memory to look for; then nothing of an
answer is kept.
"""


class Automaton:
    """Finds these words, none of them empty, in bytes."""

    __slots__ = ("_beginnings", "_depths", "_fallbacks", "_found", "_steps")

    def __init__(self, words: Iterable[bytes]) -> None:
        """A state is a beginning of a word, 0 the empty one; `_steps` leads from state * 256 + byte to the next."""
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
        """For each state the longest other one that is an end of it, the shallow states first."""
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
        """The positions of words, in order, overlapping ones as one; and how many bytes at the end begin a word."""
        first = self._beginnings.search(data)  # nearly all short texts hold not even that
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
    """Hides these secrets: as they are, and as JSON, URLs and HTML write them. It is no wall against a target that
    means to give them away: such a target has them already.

    Its time grows with what is looked at and with the secrets, not with their product: some 0.1 s for 256 KB.
    """

    __slots__ = ("_automaton", "_everything")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Empty ones are left out; those of a letter or two hide more than themselves."""
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
        """The text without the secrets."""
        return self.data(text.encode(errors="replace")).decode(errors="replace")

    def data(self, data: bytes, *, broken_off: bool = False) -> bytes:
        """Bytes of an unknown encoding without the secrets; of bytes that were `broken_off` also without an end that
        may be the beginning of one.
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
        """A JSON value without the secrets, names of fields and numbers included."""
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
    """Answers are UTF-8; but headers go out, and may come back, in Latin-1."""
    yield form.encode()
    if not form.isascii() and max(form) <= "\xff":
        yield form.encode("latin-1")


_SECONDS = re.compile(r"\d{1,9}", re.ASCII)

READ_BYTES = 256 * 1024
"""How much of a response is kept at most. A large result lies in the store of results, not in the run's record."""

EXCERPT_CHARACTERS = 200
_LOOKED_AT_BYTES = 16 * 1024
_NOTHING = Redaction()


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """How many seconds from `now` (UTC seconds) a target asks to be left alone; None when it does not say."""
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        return max(moment.timestamp() - now, 0.0) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def kept(status: int, body: bytes, *, json: bool, redaction: Redaction = _NOTHING) -> dict[str, Any]:
    """The result of a run: `{"status": 200, "body": ...}`. The body is what its JSON says or else its text; one of more
    than 256 KB is the beginning of its text, with `"truncated": true`. Callers read a byte more than that, to know.
    """
    if not body:
        return {"status": status, "body": None}
    if len(body) > READ_BYTES:
        beginning = redaction.data(body[:READ_BYTES], broken_off=True)
        return {"status": status, "body": cut(beginning, READ_BYTES), "truncated": True}
    if json:
        try:
            value = orjson.loads(body)
            orjson.dumps(value)  # it reads deeper nesting than it writes, and this has to be written
        except (orjson.JSONDecodeError, TypeError):
            pass
        else:
            return {"status": status, "body": redaction.value(value)}
    return {"status": status, "body": cut(redaction.data(body), READ_BYTES)}


def cut(data: bytes | str, limit: int) -> str:
    """Text of at most `limit` bytes of UTF-8; what is not UTF-8 shows as U+FFFD."""
    text = data if isinstance(data, str) else data[:limit].decode(errors="replace")
    return text.encode(errors="replace")[:limit].decode(errors="ignore")


def excerpt(body: bytes, redaction: Redaction) -> str:
    """The beginning of a response on one line, for an error message, without the secrets that it may echo."""
    shown = redaction.data(body[:_LOOKED_AT_BYTES], broken_off=len(body) > _LOOKED_AT_BYTES)
    text = cut(shown, _LOOKED_AT_BYTES)
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= EXCERPT_CHARACTERS else f"{line[: EXCERPT_CHARACTERS - 3]}..."


def call_values(call: Call) -> dict[str, str]:
    """What templates of a call may name: CALL_NAMES, what it takes of its workflow, and `callback_token` where the run
    waits for its callback.
    """
    values = values_for(call.run, call.job) | dict(call.taken) | {"idempotency_key": call.idempotency_key}
    return values if call.callback_token is None else values | {"callback_token": call.callback_token}


def run_headers(call: Call) -> dict[str, str]:
    """For targets that are called over HTTP."""
    headers = {
        "X-Duecourse-Run-Id": str(call.run.name),
        "X-Duecourse-Job-Id": call.run.job_id,
        "X-Duecourse-Tenant": call.run.tenant,
        "X-Duecourse-Scheduled-At": to_iso(call.run.occurrence),
        "X-Duecourse-Attempt": str(call.run.attempt),
        "Idempotency-Key": call.idempotency_key,
    }
    if call.callback_token is not None:
        headers["X-Duecourse-Token"] = call.callback_token
    return headers


def tracing_headers(call: Call) -> dict[str, str]:
    """By which a target called over HTTP finds the run in the logs, and this invocation in its trace. A job may put
    others in their place.
    """
    named = {} if call.run.correlation_id is None else {"X-Correlation-Id": call.run.correlation_id}
    return named | trace_headers(trace_header())


def run_event(call: Call) -> dict[str, Any]:
    """For targets that receive one JSON document; its payload is rendered. Raises TemplateError where it cannot be.

    `correlation_id` is there where the run has one. With `callback` come the token by which the run is completed, and
    the run's id as the API knows it.
    """
    event = {
        "run_id": str(call.run.name),
        "job_id": call.run.job_id,
        "tenant": call.run.tenant,
        "scheduled_at": to_iso(call.run.occurrence),
        "due_at": to_iso(call.run.due),
        "attempt": call.run.attempt,
        "idempotency_key": call.idempotency_key,
        "payload": render_document(call.job.payload, call_values(call)),
    }
    if call.run.correlation_id is not None:
        event["correlation_id"] = call.run.correlation_id
    if call.callback_token is not None:
        event["callback"] = {"token": call.callback_token, "run": str(call.run.name)}
    return event


def message_text(call: Call) -> str:
    """The event as JSON.

    JSON may hold U+FFFE and U+FFFF as they are, which a message may not (Amazon SQS API Reference, "SendMessage"): they
    are written as escapes, and read as what they were.
    """
    text = orjson.dumps(run_event(call)).decode()
    return text.replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff")


def message_attributes(call: Call) -> dict[str, Any]:
    """Run, job and tenant: what receivers and subscriptions filter by."""
    words = {"run_id": str(call.run.name), "job_id": call.run.job_id, "tenant": call.run.tenant}
    return {name: {"DataType": "String", "StringValue": word} for name, word in words.items()}


def group_fields(call: Call, name: str, group: str | None) -> dict[str, str]:
    """Group and deduplication of a message to queue or topic `name`. Raises TemplateError.

    A FIFO one (`….fifo`) needs both; without a group of its own a job is a group. A standard one takes a group as a
    hint for fairness between groups, where the job gives one.
    """
    fields = {}
    fifo = name.endswith(".fifo")
    if group is not None:
        fields["MessageGroupId"] = render_template(group, call_values(call))
    elif fifo:
        fields["MessageGroupId"] = call.run.job_id
    if fifo:
        fields["MessageDeduplicationId"] = deduplication_id(call)
    return fields
