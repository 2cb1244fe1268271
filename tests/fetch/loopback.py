"""A web server on 127.0.0.1 that gives files, and does what servers do wrong."""

import hashlib
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """``content``: bytes by path. ``faults``: by path, what goes wrong in each request, one after the other; the last one stays.

    ("cut", n) closes after n bytes, ("cut", n, "bare") without a version; ("status", code); ("to", path) redirects; ("whole",)
    ignores ranges; ("long", n) announces n bytes more; ("page",) calls it HTML; ("slow", seconds) waits after each 1,000 bytes;
    ("chunked",) does not say the length; ("bare",) says nothing by which a version is known; ("shift",) sends another part."""

    content: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[tuple]] = field(default_factory=dict)
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    address: str = ""

    def url(self, path):
        return f"{self.address}/{path}"


@contextmanager
def serving():
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def log_message(self, *_):
            pass

        def do_GET(self):
            path = self.path.lstrip("/").partition("?")[0]
            site.asked.append((path, self.headers.get("Range"), self.headers.get("If-Range")))
            queue = site.faults.get(path, [])
            kind, *more = (queue.pop(0) if len(queue) > 1 else queue[0]) if queue else ("none",)
            if kind == "to":
                self.send_response(302)
                self.send_header("Location", more[0])
                self.end_headers()
                return
            if kind == "status" or path not in site.content:
                self.send_error(more[0] if kind == "status" else 404)
                return
            data = site.content[path]
            etag = f'"{hashlib.sha256(data).hexdigest()[:8]}"'
            wanted = self.headers.get("Range")
            version = self.headers.get("If-Range")
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and version in (None, etag) else 0
            start = 0 if kind in ("whole", "chunked") else start
            start += 1 if kind == "shift" and start else 0
            if start and start >= len(data):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            if kind != "chunked":
                self.send_header("Content-Length", str(len(data) - start + (more[0] if kind == "long" else 0)))
            if "bare" not in (kind, *more):
                self.send_header("ETag", etag)
            self.send_header("Content-Type", "text/html" if kind == "page" else "application/octet-stream")
            self.end_headers()
            body = data[start : start + more[0]] if kind == "cut" else data[start:]
            for at in range(0, len(body), 1000 if kind == "slow" else len(body) or 1):
                self.wfile.write(body[at : at + 1000] if kind == "slow" else body)
                if kind == "slow":
                    time.sleep(more[0])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
