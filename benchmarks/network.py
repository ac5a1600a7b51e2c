"""What a request of guest code takes through the session's proxy, beside the same code that connects directly.

The same Python asks the same server, which is a process of its own: in the guest through the proxy, and in an ordinary
process without one. Both measure their own requests.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.results import Check
from benchmarks.run import Run, median
from cellwright import Limits, Network, Runtime

SERVER = """
import http.server, ssl, sys
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    def do_GET(self):
        body = b"x" * int(self.path[1:])
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
if len(sys.argv) > 1:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"""
# `again`: the connection is kept; else each request makes one, through the proxy with a tunnel for https
ASK = """
import http.client, os, ssl, time, urllib.parse
def ask(scheme, port, size, count, again):
    proxy = urllib.parse.urlsplit(os.environ.get("HTTPS_PROXY", "")).netloc
    trust = ssl.create_default_context() if proxy else ssl._create_unverified_context()
    def connect():
        host = proxy or f"127.0.0.1:{port}"
        if scheme == "http":
            return http.client.HTTPConnection(host)
        made = http.client.HTTPSConnection(host, context=trust)
        if proxy:
            made.set_tunnel("127.0.0.1", port)
        return made
    path = f"http://127.0.0.1:{port}/{size}" if proxy and scheme == "http" else f"/{size}"
    kept, times = None, []
    for _ in range(count):
        began = time.perf_counter()
        kept = kept if kept is not None and again else connect()
        kept.request("GET", path, headers={"Host": f"127.0.0.1:{port}"})
        assert len(kept.getresponse().read()) == size
        times.append(time.perf_counter() - began)
    return times
"""
MB = 1 << 20


async def measure(run: Run) -> list[Check]:
    with run.directory() as directory:
        pem, authority = _certificate(directory)
        checks: list[Check] = []
        for scheme in ("http", "https"):
            with _server(pem if scheme == "https" else None) as port:
                network = Network([f"{scheme}://127.0.0.1:{port}"], certificates=authority)
                limits = Limits(memory_mb=512, host_calls=10**6, wall_s=300)
                async with Runtime(network=network, limits=limits) as rt:
                    (await rt.execute(ASK)).unwrap()
                    checks += await _compared(run, rt, scheme, port)
        return checks


async def _compared(run: Run, rt: Runtime, scheme: str, port: int) -> list[Check]:
    kinds = {
        f"a request over {scheme}, connection kept": (100, run.count(100, 5), True),
        f"a request over {scheme}, each with a connection": (100, run.count(50, 3), False),
        f"20 MB over {scheme}": (20 * MB, run.count(4, 1), True),
    }
    checks: list[Check] = []
    for what, (size, count, again) in kinds.items():
        ours: list[float] = []
        theirs: list[float] = []
        call = f"ask({scheme!r}, {port}, {size}, {count}, {again})"
        for _ in run.rounds(f"network, {what}", 5, 1):
            ours += (await rt.execute(call)).unwrap()
            theirs += await asyncio.to_thread(_direct, call)
        middle = median(ours), median(theirs)
        note = f"{size / 1e6 / middle[0]:.0f} MB/s beside {size / 1e6 / middle[1]:.0f}" if size > MB else ""
        checks.append(
            Check(
                subject="network",
                what=f"{what}, through the proxy",
                against="the same, direct",
                ours=middle[0],
                theirs=middle[1],
                value=middle[0] / middle[1],
                samples=len(ours),
                note=note,
            )
        )
    return checks


def _direct(call: str) -> list[float]:
    program = f"import os\nos.environ.clear()\n{ASK}\nimport json\nprint(json.dumps({call}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


@contextmanager
def _server(pem: Path | None) -> Generator[int]:
    command = [sys.executable, "-c", SERVER, *([str(pem)] if pem is not None else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def _certificate(directory: Path) -> tuple[Path, Path]:
    """A key with a certificate for 127.0.0.1, and the authority that the proxy is to trust for it."""
    import datetime as dt
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    text = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (directory / "server.pem").write_bytes(private + text)
    (directory / "authority.pem").write_bytes(text)
    return directory / "server.pem", directory / "authority.pem"
