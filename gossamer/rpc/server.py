"""A gRPC server for services of ours, with TLS, keys, health and reflection as gRPC tools expect them.

Where it may listen is decided before it does: on loopback always, elsewhere only with a key (`gossamer keys`) or with
certificates of clients. Two servers never share a port: by default gRPC would let them, and calls would go to either.

HTTP/2 pushes back where a service does not read: gRPC takes in one message of a stream ahead, and its window.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from gossamer.access.callers import Callers, is_loopback
from gossamer.access.keys import Keys, Scope
from gossamer.clock import Clock
from gossamer.config import ConfigError, UsageError
from gossamer.folder import FolderError
from gossamer.rpc.guard import RpcGuard
from gossamer.rpc.methods import handlers
from gossamer.settings import RpcSettings

STOP_S = 3.0  # for calls that are under way
CALLS_MAX = 1000  # at once; further ones are told to come again


@dataclass(frozen=True)
class Service:
    descriptor: ServiceDescriptor  # of its .proto
    servicer: object  # has an asynchronous method for each of the descriptor's
    reads: frozenset[str] = field(default_factory=frozenset)  # methods that a key may call which may only look
    fetches: frozenset[str] = field(default_factory=frozenset)  # and those of a key for fetchers

    @property
    def scopes(self) -> dict[str, Scope]:
        path = f"/{self.descriptor.full_name}"
        reads: dict[str, Scope] = {f"{path}/{method}": "read" for method in self.reads}
        return reads | {f"{path}/{method}": "fetch" for method in self.fetches}


class RpcServer:
    """`start` it, and `stop` it, or wait `until_told` to by a signal."""

    def __init__(self, services: Sequence[Service], listen: str, settings: RpcSettings, keys: Keys, clock: Clock):
        host, self._port = address_in(listen)
        check(host, settings, keys)
        callers = Callers(
            keys, clock, is_local=is_loopback(host), failures_a_minute=settings.failures_a_minute,
            is_behind=bool(settings.client_ca_file) and not keys.all(),
        )  # fmt: skip
        scopes: dict[str, Scope] = {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": "read"}
        for service in services:
            scopes |= service.scopes
        self._host, self._settings = host, settings
        self._server = grpc.aio.server(
            interceptors=[RpcGuard(callers, scopes)],
            maximum_concurrent_rpcs=CALLS_MAX,
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", settings.message_bytes_max),
                ("grpc.max_send_message_length", -1),
                # A client that asks whether we are still there is answered, however quiet its stream is.
                ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
                ("grpc.keepalive_permit_without_calls", 1),
            ],
        )
        self._server.add_generic_rpc_handlers([handlers(each.descriptor, each.servicer) for each in services])
        names = [service.descriptor.full_name for service in services]
        self._health = HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server)
        self._names = ["", *names]

    async def start(self) -> str:
        """Returns where it listens: HOST:PORT."""
        where = f"{f'[{self._host}]' if ':' in self._host else self._host}"
        try:
            port = self._bind(f"{where}:{self._port}")
        except RuntimeError:
            port = 0
        if not port:
            raise FolderError(
                f"cannot listen on {where}:{self._port}: it is in use, or not an address of this machine"
            )
        await self._server.start()
        for name in self._names:
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        return f"{where}:{port}"

    def _bind(self, where: str) -> int:
        if not self._settings.certificate_file:
            return int(self._server.add_insecure_port(where))
        certificate, key = Path(self._settings.certificate_file), Path(self._settings.key_file)
        clients = self._settings.client_ca_file
        credentials = grpc.ssl_server_credentials(
            [(key.read_bytes(), certificate.read_bytes())],
            root_certificates=Path(clients).read_bytes() if clients else None,
            require_client_auth=bool(clients),
        )
        return int(self._server.add_secure_port(where, credentials))

    async def stop(self, within_s: float = STOP_S) -> None:
        """Lets the calls end that are under way, for a while."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(within_s)

    async def until_told(self, ready: str) -> None:
        """Until SIGINT or SIGTERM, and then `stop`. `ready`: printed when a signal is heard, and not before."""
        told, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, told.set)
        print(ready, flush=True)
        try:
            await told.wait()
            await self.stop()
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def address_in(text: str, flag: str = "--listen") -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not (port.isascii() and port.isdecimal() and int(port) <= 65_535):
        raise UsageError(f"{flag}: {text!r} is not like 127.0.0.1:7071 or [::1]:7071")
    return host, int(port)


def check(host: str, settings: RpcSettings, keys: Keys) -> None:
    """Whether it may listen there at all; raises with what to do about it."""
    if bool(settings.certificate_file) != bool(settings.key_file):
        raise ConfigError("rpc.certificate_file and rpc.key_file belong together: set both, or none")
    if settings.client_ca_file and not settings.certificate_file:
        raise ConfigError("rpc.client_ca_file needs TLS: set rpc.certificate_file and rpc.key_file as well")
    for name in (settings.certificate_file, settings.key_file):
        try:
            if name and b"-----BEGIN " not in Path(name).read_bytes():
                raise ConfigError(f"{name} (rpc.certificate_file, rpc.key_file) is not a PEM file")
        except OSError as fault:
            raise ConfigError(
                f"{name} (rpc.certificate_file, rpc.key_file) cannot be read: {fault.strerror}"
            ) from None
    if is_loopback(host):
        return
    if not keys.all() and not settings.client_ca_file:
        raise UsageError(
            f"{host} can be reached by others, and there is no key: make one with `gossamer keys {keys.path.parent} "
            "--add NAME --scope control`, or listen on 127.0.0.1"
        )
    if not settings.certificate_file:
        print("gossamer: without TLS (rpc.certificate_file) keys can be read on their way", file=sys.stderr)
