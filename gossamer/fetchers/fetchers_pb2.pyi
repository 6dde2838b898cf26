from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class WorkersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WorkersThere(_message.Message):
    __slots__ = ("crawl", "ports")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    ports: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, crawl: _Optional[str] = ..., ports: _Optional[_Iterable[int]] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: bytes
    def __init__(self, messages: _Optional[bytes] = ...) -> None: ...

class FetchReport(_message.Message):
    __slots__ = ("crawl", "lease", "epoch", "url", "status", "content_hash", "body_bytes", "links", "body", "content_type", "location", "error")
    CRAWL_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    BODY_BYTES_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    crawl: str
    lease: str
    epoch: int
    url: str
    status: int
    content_hash: str
    body_bytes: int
    links: _containers.RepeatedScalarFieldContainer[str]
    body: bytes
    content_type: str
    location: str
    error: str
    def __init__(self, crawl: _Optional[str] = ..., lease: _Optional[str] = ..., epoch: _Optional[int] = ..., url: _Optional[str] = ..., status: _Optional[int] = ..., content_hash: _Optional[str] = ..., body_bytes: _Optional[int] = ..., links: _Optional[_Iterable[str]] = ..., body: _Optional[bytes] = ..., content_type: _Optional[str] = ..., location: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class ReportTaken(_message.Message):
    __slots__ = ("taken", "reason")
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    taken: bool
    reason: str
    def __init__(self, taken: _Optional[bool] = ..., reason: _Optional[str] = ...) -> None: ...
