"""Certificates are checked against the host's name although the connection goes to a pinned address."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from duecourse.adapters.targets.http import HttpCaller, system_trust
from duecourse.domain.targets import Failed, HttpTarget, Succeeded
from tests.support.calls import a_call
from tests.support.http_target import answering, http_target


class Authority:
    """A certificate authority of this test."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test CA")])
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        own = self._builder(self._name, self._key.public_key(), days=1)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self._certificate = own.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePublicKey, days: int) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        identifier = x509.SubjectKeyIdentifier.from_public_key(key)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder(self._name, name, key, x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(identifier, critical=False)
            .add_extension(authority, critical=False)
        )

    def trusted(self) -> ssl.SSLContext:
        """What a client knows that trusts this authority alone."""
        pem = self._certificate.public_bytes(serialization.Encoding.PEM)
        return ssl.create_default_context(cadata=pem.decode())

    def server(self, host: str, folder: Path, *, days: int = 1) -> ssl.SSLContext:
        """What a server needs that calls itself `host`."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        builder = self._builder(name, key.public_key(), days).add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        file = folder / f"{host}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def https(clock, secrets, authority):
    """Every name stands at 127.0.0.1, and the test's authority is trusted."""
    return HttpCaller(
        clock, private=True, secrets=secrets, resolve=lambda host, port: ["127.0.0.1"], trust=authority.trusted
    )


def test_the_right_name_is_accepted_and_indicated(https, authority, tmp_path):
    indicated = []
    tls = authority.server("customer.test", tmp_path)
    tls.sni_callback = lambda sock, name, context: indicated.append(name)
    with http_target(answering(200), tls) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        assert https.call(a_call(target), target) == Succeeded({"status": 200, "body": None})
    assert indicated == ["customer.test"]


def test_a_certificate_of_another_name_is_refused(https, authority, tmp_path):
    with http_target(answering(200), authority.server("somebody-else.test", tmp_path)) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        outcome = https.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert "certificate was not accepted" in outcome.error
    assert outcome.code == "tls"
    assert server.seen == []


def test_a_certificate_for_the_name_does_not_do_for_the_address(https, authority, tmp_path):
    with http_target(answering(200), authority.server("customer.test", tmp_path)) as server:
        target = HttpTarget(f"https://127.0.0.1:{server.port}/")
        outcome = https.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert server.seen == []


def test_an_expired_certificate_is_refused(https, authority, tmp_path):
    with http_target(answering(200), authority.server("customer.test", tmp_path, days=-1)) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        outcome = https.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert "expired" in outcome.error


def test_an_authority_that_nobody_knows_is_refused(clock, secrets, authority, tmp_path):
    stranger = HttpCaller(clock, private=True, secrets=secrets, resolve=lambda host, port: ["127.0.0.1"])
    with http_target(answering(200), authority.server("customer.test", tmp_path)) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        outcome = stranger.call(a_call(target), target)
    assert isinstance(outcome, Failed)
    assert "certificate was not accepted" in outcome.error
    assert outcome.code == "tls"
    assert server.seen == []


def test_a_server_without_tls_is_a_failed_connection(https):
    with http_target(answering(200)) as server:
        target = HttpTarget(f"https://customer.test:{server.port}/")
        outcome = https.call(a_call(target, timeout_seconds=0.3), target)
    assert isinstance(outcome, Failed)
    assert outcome.retryable


def test_the_systems_authorities_are_found():
    context = system_trust()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
