"""A PostgreSQL server in a folder of its own, on a socket there and on 127.0.0.1, which goes with the block that uses it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "not/for@you"
PROGRAMS = ("initdb", "pg_ctl", "psql")


@dataclass(frozen=True)
class Server:
    """``uri``: the address with the password. ``folder``: that of the socket."""

    folder: Path
    port: int

    @property
    def uri(self) -> str:
        return f"postgresql://owner:{PASSWORD.replace('/', '%2F').replace('@', '%40')}@127.0.0.1:{self.port}/postgres"

    def run(self, sql: str) -> str:
        """Run statements, and return what they give, without titles."""
        command = [
            "psql",
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-U",
            "owner",
            "postgres",
        ]
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        done = subprocess.run(command, input=sql, text=True, capture_output=True, env=environment, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return done.stdout.strip()


def missing() -> str | None:
    """Why no server can be started here; None where one can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"no {', '.join(absent)} on the PATH" if absent else None


@contextmanager
def temporary_server(settings: str = "") -> Iterator[Server]:
    """Start a server, and stop and remove it at the end. PostgreSQL refuses to run as root: then it runs as ``nobody``."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    user: dict[str, str | int] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    password = folder / "password"
    password.write_text(PASSWORD)
    password.chmod(0o644)
    flags = (
        f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off -c wal_level=minimal -c max_wal_senders=0 {settings}"
    )
    data = ["-D", str(folder / "data")]

    def call(*command: str) -> None:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)  # type: ignore[call-overload]

    try:
        call("initdb", *data, "-U", "owner", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "--no-sync")
        call("pg_ctl", *data, "-w", "-l", str(folder / "log"), "-o", flags, "start")
        try:
            yield Server(folder, port)
        finally:
            call("pg_ctl", *data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)
