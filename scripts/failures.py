"""Messages with the cause and the remedy of a failed setup step. Uses only the standard library."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

AGAIN = "run the same command again"
CAUSES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("No space left on device", "ENOSPC", "os error 28", "Disk quota exceeded", "EDQUOT", "os error 122"),
        f"the disk is full: free about 3 GB where the checkout, HOME and TMPDIR are, and {AGAIN}",
    ),
    (
        ("Read-only file system", "EROFS", "os error 30"),
        f"the file system is read-only: use a checkout, a HOME and a TMPDIR on a writable one, and {AGAIN}",
    ),
    (
        ("Permission denied", "EACCES", "os error 13", "Operation not permitted", "EPERM"),
        f"a file or folder belongs to another user: use a checkout, a HOME and a TMPDIR of your own, and {AGAIN}",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED", "invalid peer certificate", "SELF_SIGNED_CERT", "UNABLE_TO_GET_ISSUER_CERT"),
        f"a certificate is not trusted: set SSL_CERT_FILE and NODE_EXTRA_CA_CERTS to your network's file, and {AGAIN}",
    ),
)
"""Parts of messages of Python, uv, pip and npm, with the cause and the remedy; the first match counts."""

PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
PROXY_REFUSALS = ("Proxy Authentication Required", "Tunnel connection failed", "tunnel error: unsuccessful")
PROBE_SECONDS = 5.0
OFFLINE = "check the network connection, and the package index that {tool} is configured to use"


def local_cause(said: str) -> str | None:
    """Return the cause on this machine that the output of a tool or exception shows, or None if there is none."""
    return next((cause for parts, cause in CAUSES if any(part in said for part in parts)), None)


def cause_of_download(
    said: str, tool: str, environment: Mapping[str, str], answers: Callable[[str], bool] | None = None
) -> str:
    """Return why a download by `tool` failed. `answers` returns whether a proxy's address accepts connections."""
    if (cause := local_cause(said)) is not None:
        return cause
    name = next((name for name in PROXIES if environment.get(name)), None)
    if name is not None:
        place = shown(environment[name])
        if not (answers or accepts_connections)(environment[name]):
            return f"the proxy {place} ({name}) does not answer: correct or unset {name}, and {AGAIN}"
        if any(part in said for part in PROXY_REFUSALS):
            return f"the proxy {place} ({name}) refused the connection: correct {name} or its credentials, and {AGAIN}"
    return f"{OFFLINE.format(tool=tool)}, and {AGAIN}"


def shown(proxy: str) -> str:
    """Return the address of a proxy without its credentials."""
    return proxy.rpartition("@")[2].rpartition("//")[2].rstrip("/")


def accepts_connections(proxy: str) -> bool:
    """Return whether the address of a proxy accepts a connection."""
    try:
        parts = urlsplit(proxy if "//" in proxy else f"//{proxy}")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), PROBE_SECONDS):
            return True
    except (OSError, ValueError):
        return False


def cause_of(error: OSError, checkout: Path) -> str:
    """Return the message for an error of the operating system during the setup in `checkout`."""
    what = f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
    if not os.access(checkout, os.W_OK):
        return f"{what}: this checkout is not writable for you: clone it into a folder of your own"
    cause = local_cause(str(error))
    return f"{what}: {cause}" if cause else what
