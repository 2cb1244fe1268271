"""A server of object storage on this machine, and one before it that lets requests fail."""

import http.client
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = "hush/Very+secret0123456789"
KEY = "AKIAKEYNOBODYSHOULDSEE"
FAULTS = ("500", "hangs", "drops", "drops after", "truncates", "cuts", "falsifies")
"""What may happen to a request. It reaches the server where it drops after, truncates, cuts or falsifies: the answer suffers."""


def environment(endpoint):
    """What a user would set."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }


class Faulty(BaseHTTPRequestHandler):
    """Answers requests as `_asked` says. The server's ``fault(number, method, path)`` is what happens to each; None: nothing."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _pass(self):
        server = self.server
        with server.guard:
            number, server.count = server.count, server.count + 1
        fault = server.fault(number, self.command, self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if fault == "hangs":
            server.stopped.wait(server.hangs)
        if fault in ("hangs", "drops"):
            self.close_connection = True
            return
        status, headers, data = (500, {}, b"<Error><Code>InternalError</Code></Error>") if fault == "500" else self._asked(body)
        if fault != "500":
            server.after(self.command, self.path)
        if fault == "drops after":
            self.close_connection = True
            return
        if fault == "falsifies" and data:
            data = data[:-1] + bytes([data[-1] ^ 1])
        if fault == "cuts":
            data = data[: len(data) // 2]
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server"):
                self.send_header(name, value)
        length = headers.get("Content-Length", len(data)) if self.command == "HEAD" else len(data)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if fault == "truncates" else data)
        self.close_connection = fault == "truncates"

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass

    def log_message(self, *_):
        pass


class Proxy(Faulty):
    """Passes requests on."""

    def _asked(self, body):
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        connection = http.client.HTTPConnection(self.server.behind.removeprefix("http://"), timeout=20)
        with closing(connection):
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.headers), answer.read()


class FaultyServer(ThreadingHTTPServer):
    """It says nothing of clients that part early, as after a fault they do."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def nothing(*_):
    pass


@contextmanager
def serving(handler, **facts):
    """Start a server that a `Faulty` handler answers for; give it. Its address is ``endpoint``. ``facts``: what else it has."""
    with FaultyServer(("127.0.0.1", 0), handler) as server:
        server.guard, server.count, server.stopped = threading.Lock(), 0, threading.Event()
        for name, value in {"fault": nothing, "after": nothing, "hangs": 2.0, **facts}.items():
            setattr(server, name, value)
        server.endpoint = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.stopped.set()
            server.shutdown()
            thread.join()


def proxy(behind, fault=nothing, after=nothing, hangs=2.0):
    """Start a `Proxy` before the server at ``behind``, as `serving` does."""
    return serving(Proxy, behind=behind, fault=fault, after=after, hangs=hangs)
