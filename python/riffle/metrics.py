"""What the readers of this process count, for Prometheus: riffle.serve_metrics() and Reader.metrics()."""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
import threading
import time
import weakref
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

from ._arguments import text
from .errors import UsageError

_CONNECTIONS = 8  # at a time; each is a thread, and holds headers of at most some MB
_CONNECTION_S = 10  # that one lasts: it is of one request
_HOST = re.compile(r"(?:\[([^\]]+)\]|([^\[\]:]+))(?::[0-9]*)?")
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,512}")
_readers: "weakref.WeakSet[Any]" = weakref.WeakSet()
_progresses: "weakref.WeakSet[Any]" = weakref.WeakSet()
_COMMITTED = "riffle_reader_committed_step"


def add_reader(reader: Any) -> None:
    _readers.add(reader)


def add_progress(progress: Any) -> None:
    _progresses.add(progress)


def _trained() -> Dict[str, int]:
    """What trained() has committed: of each series of _COMMITTED the lowest of this process' ranks."""
    found: Dict[str, int] = {}
    for progress in list(_progresses):
        step = progress.known
        series = f'{_COMMITTED}{{mix="{progress.mix}",run="{progress.run}"}}'
        if step > 0:
            found[series] = min(step, found.get(series, step))
    return found


def metrics() -> str:
    """The metrics of all open readers of this process, as Prometheus reads them; docs/METRICS.md has the names. Of
    several readers of one run counters are summed, and of all else the lowest is shown."""
    texts = []
    for reader in list(_readers):
        try:
            texts.append(reader.metrics())
        except UsageError:  # closed meanwhile
            continue
    return merged(texts, _trained())


def merged(texts: Iterable[str], trained: Mapping[str, int] = MappingProxyType({})) -> str:
    """One text of several, in which each metric and each of its samples is there once. Readers commit what was read, and
    trained() what was trained: the later one of them is shown."""
    heads: Dict[str, List[str]] = {}
    samples: Dict[str, Dict[str, float]] = {}
    for text in texts:
        name = ""
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ", 3)[2]
                if name not in heads:
                    heads[name], samples[name] = [], {}
            if line.startswith("#"):
                if len(heads[name]) < 2:
                    heads[name].append(line)
                continue
            series, _, value = line.rpartition(" ")
            known, found = samples[name], float(value)
            if series not in known:
                known[series] = found
            else:
                known[series] = known[series] + found if name.endswith("_total") else min(known[series], found)
    lines = []
    for series, step in trained.items():
        if _COMMITTED in samples:
            samples[_COMMITTED][series] = max(step, samples[_COMMITTED].get(series, 0))
    for name, head in heads.items():
        lines += head + [f"{series} {value:.17g}" for series, value in samples[name].items()]
    return "".join(f"{line}\n" for line in lines)


def _address(addr: Any) -> Tuple[str, int]:
    """As the commands take it with --metrics (cli/http/endpoint.h)."""
    text("addr", str(addr))
    host, _, port = str(addr).rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise UsageError(f"{addr}: an IPv6 address needs brackets: [{host}]:{port}")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"{addr!r} is no address: PORT, or HOST:PORT")
    return host or "127.0.0.1", int(port)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.lower() == "localhost"
    return True


def _host_of(header: str) -> str:
    """The host of a Host header, without its port; "" where it is none."""
    found = _HOST.fullmatch(header)
    return (found[1] or found[2]) if found else ""


def _has_token(authorization: str, token: str) -> bool:
    scheme, _, shown = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(shown.encode(), token.encode())


class _Handler(BaseHTTPRequestHandler):
    timeout = _CONNECTION_S
    server_version, sys_version = "riffle", ""
    loopback = True
    token: Optional[str] = None
    text: Callable[[], str] = staticmethod(metrics)

    def do_GET(self) -> None:
        # A web page whose name is made to point here (DNS rebinding) sends its own name.
        if self.loopback and not _is_address(_host_of(self.headers.get("Host", ""))):
            self._answer(421, "use an address or localhost\n")
        elif self.token is not None and not _has_token(self.headers.get("Authorization", ""), self.token):
            self._answer(401, "send Authorization: Bearer TOKEN\n")
        elif self.path.partition("?")[0] != "/metrics":
            self._answer(404, "metrics are at /metrics\n")
        elif self.command not in ("GET", "HEAD"):
            self._answer(405, "GET only\n")
        else:
            self._answer(200, self.text(), "text/plain; version=0.0.4; charset=utf-8")

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def _answer(self, status: int, text: str, kind: str = "text/plain; charset=utf-8") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if status == 405:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *unused: Any) -> None:
        """Nothing: a scrape is no event."""


class _Server(ThreadingHTTPServer):
    """Who reaches the port may be anybody, with or without a token: few threads, each for a short while. `_until` has
    when each connection is cut; the thread that accepts them and their own threads change it."""

    daemon_threads = True

    def __init__(self, *args: Any):
        self._until: Dict[socket.socket, float] = {}
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        if len(self._until) >= _CONNECTIONS:
            self.shutdown_request(request)
            return
        self._until[request] = time.monotonic() + _CONNECTION_S
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._until.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Twice a second, by serve_forever()."""
        now = time.monotonic()
        for request, until in list(self._until.items()):
            if until < now:
                try:
                    request.shutdown(socket.SHUT_RDWR)  # its thread then ends
                except OSError:  # it has ended meanwhile
                    pass

    def handle_error(self, *unused: Any) -> None:
        """Nothing: a client that goes away is no event."""


class MetricsServer:
    """What serve_metrics() gives. `url` is its address; close() ends it, and so does the end of the process."""

    def __init__(self, addr: Any, token: Optional[str] = None):
        host, port = _address(addr)
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        loopback = ipaddress.ip_address(where[0]).is_loopback
        if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
            raise UsageError("token: not a token: 16 to 512 letters, digits, - . _ ~")
        if token is None and not loopback:
            raise UsageError(f"{addr} is not of this machine alone: a token is needed, so that not everyone reads it")
        server = type("Server", (_Server,), {"address_family": family})
        self._server = server(where, type("Handler", (_Handler,), {"loopback": loopback, "token": token}))
        host, port = self._server.server_address[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"
        self._thread = threading.Thread(target=self._server.serve_forever, name="riffle-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> "MetricsServer":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


def serve_metrics(addr: Any = 0, token: Optional[str] = None) -> MetricsServer:
    """Gives metrics() to Prometheus at http://ADDR/metrics, in threads of their own: PORT, which listens on 127.0.0.1, or
    "HOST:PORT"; port 0: any that is free. An address that other machines reach needs a token, which Prometheus sends
    (`authorization: {credentials: TOKEN}`). For the process that has the reader, which may be a worker of a DataLoader.
    The riffle_kafka_ metrics are there for readers that were opened with `properties={"statistics.interval.ms": 5000}`."""
    return MetricsServer(addr, token)
