"""The tea shop of `shop.yaml`, on this machine: it has seven orders, wants a key, and is sometimes in trouble."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

KEY = "tea-4711-0815"
ITEMS = ["tea", "scones", "jam", "tea", "cups", "tea", "jam"]


class Shop(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Counter)
        self.orders: dict[str, dict[str, Any]] = {
            str(n): {"id": n, "item": item, "count": n, "status": "open" if n % 2 else "sent"}
            for n, item in enumerate(ITEMS, start=1)
        }
        self.log: list[str] = []  # what it was asked
        self.trouble: list[str] = []  # "busy": 503 the next time; "broken": the line breaks after the work is done
        self.url = f"http://127.0.0.1:{self.server_port}"

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        match method, path.strip("/").split("/"):
            case "GET", ["orders"]:
                found = [one for one in self.orders.values() if query.get("status") in (None, one["status"])]
                at = 3 * (int(query.get("page", 1)) - 1)
                return 200, found[at : at + 3]
            case "POST", ["orders"]:
                number = len(self.orders) + 1
                self.orders[str(number)] = made = {"id": number, "count": 1, "status": "open", **body}
                return 201, made
            case "GET", ["orders", number] if number in self.orders:
                return 200, self.orders[number]
            case "DELETE", ["orders", number] if number in self.orders:
                del self.orders[number]
                return 204, None
            case "GET", ["orders", number, "notes"]:
                return 200, [{"text": f"about {number}: leave it at the door"}]
            case "GET", ["sales"]:
                return 200, {"sold": 28, "by_item": [{"item": "tea", "count": 11}]}
            case _:
                return 404, {"message": f"there is no {path}"}


class Counter(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        shop, target = cast(Shop, self.server), urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        shop.log.append(f"{self.command} {self.path}")
        trouble = shop.trouble.pop(0) if shop.trouble else ""
        if self.headers.get("x-shop-key") != KEY:
            status, answer = 401, {"message": f"{self.headers.get('x-shop-key')} is no key of ours"}
        elif trouble == "busy":
            status, answer = 503, {"message": "tea break"}
        else:
            query = {name: values[0] for name, values in parse_qs(target.query).items()}
            status, answer = shop.answer(self.command, target.path, query, json.loads(body or "null"))
        if trouble == "broken":
            self.close_connection = True
            return
        sent = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        if trouble == "busy":
            self.send_header("retry-after", "0")
        self.end_headers()
        self.wfile.write(sent)

    do_POST = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None: ...


@contextmanager
def open_shop() -> Generator[Shop]:
    with Shop() as shop:
        threading.Thread(target=shop.serve_forever, args=(0.01,), daemon=True).start()
        yield shop
        shop.shutdown()
