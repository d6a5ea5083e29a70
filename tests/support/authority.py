"""A certificate authority for tests."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates that only the tests trust."""

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
        """Return the context of a client that trusts only this authority."""
        return ssl.create_default_context(cadata=self.pem.decode())

    @property
    def pem(self) -> bytes:
        """Return the authority's own certificate."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def server(self, host: str, folder: Path, *, days: int = 1) -> ssl.SSLContext:
        """Return the context of a server with the name or IP address `host`. Its key and certificate are in a file of
        that name.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        try:
            known: x509.GeneralName = x509.IPAddress(ip_address(host))
        except ValueError:
            known = x509.DNSName(host)
        names = x509.SubjectAlternativeName([known])
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
