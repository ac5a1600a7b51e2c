"""The certificate authority of one session, which ends the guests' TLS at the host. Its key is in memory alone."""

from __future__ import annotations

import datetime as dt
import os
import ssl
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from cellwright.guard.network_list import HostAddress, host_of

if TYPE_CHECKING:
    from cryptography import x509

_KEPT = 64  # contexts of hosts: a wildcard covers any number of names
_LIFE = dt.timedelta(days=365)  # a session may be long; nobody outside of it trusts the authority


class SessionAuthority:
    """Signs a certificate for each host that a guest reaches by TLS. `certificate` is its own, as PEM."""

    def __init__(self) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec

        self._key = ec.generate_private_key(ec.SECP256R1())
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Cellwright session")])
        self._contexts: OrderedDict[str | HostAddress, ssl.SSLContext] = OrderedDict()
        authority = self._built(self._name, self._key, path_length=0)
        self.certificate = _pem(self._signed(authority)).decode()

    def context(self, host: str | HostAddress) -> ssl.SSLContext:
        """What serves TLS in the name of `host`, and of no other."""
        context = self._contexts.get(host)
        if context is None:
            context = self._contexts[host] = self._context(host)
            if len(self._contexts) > _KEPT:
                self._contexts.popitem(last=False)
        return context

    def _context(self, host: str | HostAddress) -> ssl.SSLContext:
        from cryptography.hazmat.primitives import serialization

        def check_name(tls: Any, name: str | None, context: ssl.SSLContext) -> int | None:
            try:
                right = name is None or host_of(name) == host
            except ValueError:
                right = False
            return None if right else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

        plain = serialization.NoEncryption()
        key = self._leaf_key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.sni_callback = check_name
        with open(os.memfd_create("certificate"), "wb") as file:  # `ssl` reads names of files only
            file.write(key + _pem(self._leaf(host)))
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
        return context

    def _leaf(self, host: str | HostAddress) -> x509.Certificate:
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, str(host)[:64])])
        name = x509.DNSName(host) if isinstance(host, str) else x509.IPAddress(host)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = self._built(subject, self._leaf_key, path_length=None)
        builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=False)
        return self._signed(builder.add_extension(usage, critical=False))

    def _built(self, subject: x509.Name, key: Any, *, path_length: int | None) -> x509.CertificateBuilder:
        """All that both kinds of certificates have; an authority's has a `path_length`."""
        from cryptography import x509

        is_authority, now = path_length is not None, dt.datetime.now(dt.UTC)
        uses = dict.fromkeys(("content_commitment", "data_encipherment", "key_agreement", "encipher_only"), False)
        uses |= dict.fromkeys(("decipher_only", "key_encipherment"), False)
        uses |= {"digital_signature": not is_authority, "key_cert_sign": is_authority, "crl_sign": is_authority}
        by = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .issuer_name(self._name)
            .subject_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + _LIFE)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=path_length), critical=True)
            .add_extension(x509.KeyUsage(**uses), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(by, critical=False)
        )

    def _signed(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        from cryptography.hazmat.primitives import hashes

        return builder.sign(self._key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM)
