"""Starts the wire, loads it, and reads its counts."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from tests.support.authority import Authority

FAKE_ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@dataclass(frozen=True, slots=True)
class WireAt:
    """A running wire. `secure_url` is its HTTPS port."""

    url: str
    secure_url: str

    def append(self, slot: str, items: Sequence[Mapping[str, Any]]) -> None:
        """Add a page to a slot of the due index."""
        self._post("load", {"append": {slot: list(items)}})

    def put(self, items: Mapping[str, Mapping[str, Any]]) -> None:
        """Add items that are read by key, `PK/SK`."""
        self._post("load", {"items": items})

    def clear(self) -> None:
        """Forget all pages."""
        self._post("load", {"clear": True})

    def counts(self) -> Counter[str]:
        """Return the requests by operation since the last call, and the `statements` and `messages` in them."""
        return Counter(orjson.loads(self._post("counts", {})))

    def units(self) -> Counter[str]:
        """Return the capacity units (`write`, `read`) of single reads and writes since the last call."""
        return Counter(orjson.loads(self._post("units", {})))

    def _post(self, path: str, document: Mapping[str, Any]) -> bytes:
        request = urllib.request.Request(f"{self.url}/{path}", data=orjson.dumps(document), method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            body: bytes = answer.read()
            return body


def _server(folder: Path) -> subprocess.Popen[str]:
    authority = Authority()
    authority.server("127.0.0.1", folder)
    (folder / "authority.pem").write_bytes(authority.pem)
    command = [sys.executable, "-m", "benchmarks.wire.server", str(folder / "127.0.0.1.pem")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextmanager
def wire() -> Iterator[WireAt]:
    """Start a wire in another process, and set this process's environment to use it. Both end with the block."""
    before = dict(os.environ)
    with TemporaryDirectory() as folder, _server(Path(folder)) as process:
        try:
            ports = process.stdout.readline().split() if process.stdout else []
            url, secure_url = (
                f"{scheme}://127.0.0.1:{port}" for scheme, port in zip(("http", "https"), ports, strict=True)
            )
            os.environ.update(FAKE_ACCOUNT, AWS_ENDPOINT_URL=url, SSL_CERT_FILE=str(Path(folder, "authority.pem")))
            yield WireAt(url, secure_url)
        finally:
            os.environ.clear()
            os.environ.update(before)
            if process.stdin:
                process.stdin.close()
            process.wait(10)
