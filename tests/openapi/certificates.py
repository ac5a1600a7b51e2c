"""Certificates for servers and clients of the loopback, signed by a CA of the test's own."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Signed = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def certificates(folder: Path, *names: str) -> None:
    """`ca.pem` in the folder, and `NAME.pem` and `NAME.key` of each name, good for localhost and 127.0.0.1."""
    ca = _signed("ca", None)
    _save(folder, "ca", ca)
    for name in names:
        _save(folder, name, _signed(name, ca))


def _signed(name: str, by: Signed | None) -> Signed:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer, signer = (_name(name), key) if by is None else (by[0].subject, by[1])
    now = dt.datetime.now(dt.UTC)
    here = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(here, critical=False)
    )
    return made.sign(signer, hashes.SHA256()), key


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _save(folder: Path, name: str, made: Signed) -> None:
    certificate, key = made
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / f"{name}.key").write_bytes(text)
