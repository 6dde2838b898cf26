"""The S3 server of the tests, and a place for each of them.

One is started for all tests of a process that ask for it (`server`); every test takes a folder of
its own in its bucket.
"""

from __future__ import annotations

import atexit
import itertools
from functools import cache

from gossamer.archive.bucket import BucketStorage
from gossamer.local_servers.process import ServerMissing, free_port
from gossamer.local_servers.seaweedfs import BUCKET, ENVIRONMENT, SECRETS, SeaweedFS
from tests.debian import without

__all__ = ["BUCKET", "ENVIRONMENT", "SECRETS", "S3Server", "free_port", "server"]


class S3Server(SeaweedFS):
    _numbers = itertools.count()

    def new_place(self) -> str:
        """The URL of a folder in its bucket that nobody else uses."""
        return f"s3://{BUCKET}/{next(self._numbers)}"

    def storage(self, url: str) -> BucketStorage:
        return BucketStorage(url, self.options | SECRETS)


@cache
def server() -> S3Server:
    try:
        running = S3Server()
    except ServerMissing as fault:
        without("S3", str(fault))
    atexit.register(running.remove)
    return running
