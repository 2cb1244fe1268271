"""Servers on this machine that speak as S3, Google Cloud Storage (XML) and Azure Blob Storage do, as far as these describe it.

They know conditions, generations and ETags, listings and batches of removals. Nobody has to sign. They take a thousandth of a
second for a request.
"""

import base64
import json
import re
from contextlib import contextmanager
from email.utils import formatdate
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from bucket_server import Faulty, environment, serving

CONTAINER = "container"
ACCOUNT = "someaccount"


class Cloud(Faulty):
    """The server's ``objects``: for each name, its bytes and its generation."""

    def _asked(self, body):
        name = named(self.path)
        with self.server.guard:
            found = self.server.objects.get(name)
            if self.command == "POST":
                return self._removed(body.decode())
            if self.command == "PUT":
                if status := self._refused(found[1] if found else 0):
                    return status, {}, b""
                self.server.generation += 1
                self.server.objects[name] = body, self.server.generation
                return 200, self._facts(self.server.generation), b""
            if self.command == "DELETE":
                self.server.objects.pop(name, None)
                return 202 if found else 404, {}, b""
            if not name:
                prefix = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
                entries = [(key, *each) for key, each in sorted(self.server.objects.items()) if key.startswith(prefix)]
                return 200, {"Content-Type": "application/xml"}, self._listing(entries).encode()
        return (200, self._facts(found[1]), found[0]) if found else (404, {}, b"")

    def _facts(self, generation):
        return {"ETag": f'"tag{generation}"', "Last-Modified": formatdate(0, usegmt=True), "x-goog-generation": generation}

    def _refused(self, generation):
        """The status where the request has a condition that does not hold."""
        if self.headers.get("If-None-Match") == "*" and generation:
            return self.taken
        wanted = self.headers.get("If-Match")
        return 412 if wanted is not None and wanted != f'"tag{generation}"' else None

    def _listing(self, entries):
        contents = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(data)}</Size><ETag>tag{generation}</ETag>"
            "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
            for name, data, generation in entries
        )
        return f"<ListBucketResult>{contents}</ListBucketResult>"


class Amazon(Cloud):
    taken = 412

    def _removed(self, body):
        names = [named(f"/{CONTAINER}/{name}") for name in re.findall(r"<Key>(.*?)</Key>", body)]
        for name in names:
            self.server.objects.pop(name, None)
        gone = "".join(f"<Deleted><Key>{escape(name)}</Key></Deleted>" for name in names)
        return 200, {"Content-Type": "application/xml"}, f"<DeleteResult>{gone}</DeleteResult>".encode()


class Google(Cloud):
    def _refused(self, generation):
        wanted = self.headers.get("x-goog-if-generation-match")
        return 412 if wanted is not None and int(wanted) != generation else None


class Azure(Cloud):
    taken = 409

    def _listing(self, entries):
        blobs = "".join(
            f"<Blob><Name>{escape(name)}</Name><Properties><Content-Length>{len(data)}</Content-Length><Etag>tag{generation}</Etag>"
            f"<Content-Type>application/octet-stream</Content-Type><Last-Modified>{formatdate(0, usegmt=True)}</Last-Modified>"
            "</Properties></Blob>"
            for name, data, generation in entries
        )
        return f"<EnumerationResults><Blobs>{blobs}</Blobs></EnumerationResults>"

    def _removed(self, body):
        """A batch: each removal is a request of its own inside the body."""
        parts = []
        for number, path in re.findall(r"Content-ID: (\d+).*?DELETE (\S+) HTTP", body, re.DOTALL | re.IGNORECASE):
            there = self.server.objects.pop(named(path), None)
            status = "202 Accepted" if there else "404 The specified blob does not exist."
            code = "" if there else "x-ms-error-code: BlobNotFound\r\n"
            parts.append(
                f"--batch\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\nHTTP/1.1 {status}\r\n{code}"
                "x-ms-request-id: 1\r\nx-ms-version: 2023-11-03\r\n\r\n\r\n"
            )
        return 202, {"Content-Type": "multipart/mixed; boundary=batch"}, ("".join(parts) + "--batch--\r\n").encode()


def named(path):
    """The name of the object in a request's path; empty for the container itself."""
    return unquote(urlsplit(path).path).partition(f"/{CONTAINER}/")[2]


@contextmanager
def cloud(scheme, folder, **facts):
    """Start the server of a scheme. Gives (an address in its bucket, what a user would set in the environment, the server)."""
    handler = {"s3": Amazon, "gs": Google, "az": Azure}[scheme]
    with serving(handler, objects={}, generation=0, **facts) as server:
        if scheme == "s3":
            variables = environment(server.endpoint)
        elif scheme == "gs":
            account = {"gcs_base_url": server.endpoint, "disable_oauth": True}
            account |= {"client_email": "", "private_key": "", "private_key_id": ""}
            (folder / "account.json").write_text(json.dumps(account))
            variables = {"GOOGLE_SERVICE_ACCOUNT": str(folder / "account.json")}
        else:
            variables = {
                "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
                "AZURE_STORAGE_ACCOUNT_KEY": base64.b64encode(b"no key of anybody's account").decode(),
                "AZURE_STORAGE_ENDPOINT": server.endpoint,
            }
        yield f"{scheme}://{CONTAINER}", variables, server
