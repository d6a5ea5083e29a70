"""Where an HTTP target is: the parts of its URL that a call needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import quote, urlsplit

_PORTS = {"https": 443, "http": 80}
_HOST = re.compile(r"[a-z0-9._-]+")
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")


class EndpointError(ValueError):
    """A URL that cannot be called. The message does not repeat it: it may hold secrets."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`host` is a name in ASCII (lower case) or a bare IP address; `resource` is what stands in the request line."""

    scheme: str
    host: str
    port: int
    resource: str

    @property
    def authority(self) -> str:
        """The value of the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """For messages: neither path nor query, both of which may be secrets."""
        return f"{self.scheme}://{self.authority}"


def endpoint_of(url: str) -> Endpoint:
    """The endpoint that a URL names. Raises EndpointError."""
    if _UNSAFE.search(url):
        raise EndpointError("the URL contains spaces or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise EndpointError("the URL cannot be understood (brackets or port)") from None
    if parts.scheme not in _PORTS:
        raise EndpointError("the URL must begin with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise EndpointError("the URL must not contain a user name or password: use a header")
    if port == 0:
        raise EndpointError("the URL's port must lie between 1 and 65535")
    resource = quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~")
    if parts.query:
        resource += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=-._~")
    return Endpoint(
        parts.scheme, _host(parts.hostname or "", literal="[" in parts.netloc), port or _PORTS[parts.scheme], resource
    )


def _host(host: str, *, literal: bool) -> str:
    if literal:
        try:
            return str(IPv6Address(host))
        except ValueError:
            raise EndpointError("the URL's host in brackets is no IPv6 address") from None
    try:
        ascii_host = host.encode("idna").decode().lower()
    except UnicodeError:
        ascii_host = ""
    if not _HOST.fullmatch(ascii_host):
        raise EndpointError("the URL names no valid host")
    return ascii_host
