"""The methods of a service as its .proto describes them: handlers of a server, and callables of a client.

Made from the descriptor at run time, so that of each .proto only the messages are generated.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import grpc
import grpc.aio
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass


def handlers(service: ServiceDescriptor, servicer: object) -> Any:
    """`servicer` has an asynchronous method for each, of the same name. An answer may be its message's bytes."""
    made = {}
    for method in service.methods:
        make = getattr(grpc, f"{_kind(method)}_rpc_method_handler")
        asked = GetMessageClass(method.input_type)
        made[method.name] = make(getattr(servicer, method.name), asked.FromString, _encoded)
    return grpc.method_handlers_generic_handler(service.full_name, made)


def client(channel: grpc.aio.Channel, service: ServiceDescriptor) -> Any:
    """An object with a callable for each method."""
    made = SimpleNamespace()
    for method in service.methods:
        asked, answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        make = getattr(channel, _kind(method))
        path = f"/{service.full_name}/{method.name}"
        setattr(made, method.name, make(path, asked.SerializeToString, answer.FromString))
    return made


def _encoded(answer: Message | bytes) -> bytes:
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


def _kind(method: MethodDescriptor) -> str:
    return f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
