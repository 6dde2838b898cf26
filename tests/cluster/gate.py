"""A broker with two ways in, one of them through a gate that a test can shut: as a network cut, nothing is refused.

Members that come by the gate are told its address by the broker, so all of their connections pass it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import socket
import threading
from functools import cache

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.servers.kafka import Kafka, free_ports


class Gate:
    """Carries bytes both ways while it is open. What comes while it is shut waits, as in a network."""

    def __init__(self, port: int, target: int) -> None:
        self.is_open = threading.Event()
        self.is_open.set()
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            inner, _ = self._listening.accept()
            threading.Thread(target=self._carry, args=(inner,), daemon=True).start()

    def _carry(self, inner: socket.socket) -> None:
        self.is_open.wait()
        with contextlib.suppress(OSError), inner, socket.create_connection(("127.0.0.1", self._target)) as outer:
            while True:
                for source in select.select([inner, outer], [], [])[0]:
                    chunk = source.recv(1 << 16)
                    self.is_open.wait()
                    if not chunk:
                        return
                    (outer if source is inner else inner).sendall(chunk)


class GatedKafka(Kafka):
    def __init__(self) -> None:
        direct, controller, behind, self._gate_port = free_ports(4)
        listeners = f"PLAINTEXT://127.0.0.1:{direct},GATE://127.0.0.1:{behind}"
        super().__init__(
            settings={
                "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{direct},GATE://127.0.0.1:{self._gate_port}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GATE:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            }
        )
        self._direct = direct
        self.gate = Gate(self._gate_port, behind)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._direct}"

    @property
    def through_the_gate(self) -> str:
        return f"127.0.0.1:{self._gate_port}"


@cache
def gated_kafka() -> GatedKafka:
    """One for all tests of a process: a test that kills it has it back before it ends."""
    try:
        broker = GatedKafka()
        broker.__enter__()
    except (RuntimeError, OSError) as fault:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no Kafka here: {fault}")
    atexit.register(broker.__exit__)
    return broker


def create_topic(servers: str, name: str, partitions: int, **options: str) -> None:
    config = {key.replace("_", "."): value for key, value in options.items()}
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 2})
    for done in admin.create_topics([NewTopic(name, partitions, 1, config=config)]).values():
        done.result(30)
