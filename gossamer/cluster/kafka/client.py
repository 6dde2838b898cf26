"""Kafka's client as all parts of a cluster use it: who is asked, how it is told faults, and appending that lasts.

librdkafka has threads of its own. What they have to say is said in the thread that polls, so the appender has one
that does nothing else, and hands results to the event loop. A message counts when every copy in step has it
(acks=all), and is there once and in order however often it had to be sent again (idempotence).

**An outage is waited for.** The client tries for ever; who appends waits, and `held_up` says for how long it has been
and why. Only what the broker refuses for good is an exception. To librdkafka a password that is wrong is an outage,
too, told beside (`error_cb`): so whoever begins something asks first whether a broker takes us (`greet`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from gossamer import config
from gossamer.clock import Clock

POLL_S = 0.1
UNSENT_MESSAGES_MAX, UNSENT_KIB_MAX = 1_000_000, 256 << 10  # far above what anybody lets pile up
LATE_S = 10.0  # what is not acknowledged by then is an outage
MESSAGE_BYTES_MAX = 1 << 20  # a broker's own bound, unless told otherwise


ANSWER_S = 15.0  # a broker that has not answered by then does not
LOOK_S = 1.0  # between two looks at what was said beside

# What waiting does not cure: who we are, whom we trust, what we may do.
REFUSALS = {
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
}
WHO_WE_ARE = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED}


class KafkaRefused(Exception):
    """Kafka does not take what we send, and will not later either: a person has to look."""


class KafkaAway(Exception):
    """No broker answers."""


def options_of(servers: str, options: Mapping[str, str]) -> dict[str, Any]:
    """What every client is told. User and password come from the environment."""
    told: dict[str, Any] = {
        "bootstrap.servers": servers,
        "socket.timeout.ms": 10_000,  # a broker that hangs; 60 s by default
        "reconnect.backoff.max.ms": 1_000,  # longer than a short outage by default
        "log_level": 2,  # what goes wrong is told by us
        **options,
    }
    if username := config.secret("kafka_username"):
        told |= {"sasl.username": username, "sasl.password": config.secret("kafka_password")}
    if password := config.secret("kafka_key_password"):
        told["ssl.key.password"] = password
    return told


def greet(servers: str, options: Mapping[str, str]) -> AdminClient:
    """A client to ask with, once a broker has answered it. Raises `KafkaRefused` and `KafkaAway`."""
    said: list[KafkaError] = []
    told: dict[str, Any] = {**options_of(servers, options), "error_cb": said.append}
    try:
        admin = AdminClient(told)
    except KafkaException as fault:
        raise wrong_options(fault) from None
    for _ in range(int(ANSWER_S / LOOK_S)):
        try:
            admin.list_topics(timeout=LOOK_S)
        except KafkaException as fault:
            admin.poll(0)  # what was said beside is told by whoever polls
            refused = next((error for error in (*said, fault.args[0]) if _is_refusal(error)), None)
            if refused is not None:
                raise KafkaRefused(f"Kafka at {servers} does not take us: {refused.str()}{_hint(refused)}") from None
            trouble = next((each for each in said if each.code() != KafkaError._ALL_BROKERS_DOWN), fault.args[0])
        else:
            return admin
    raise KafkaAway(f"Kafka at {servers} does not answer: {trouble.str()}")


def wrong_options(fault: KafkaException) -> KafkaRefused:
    """The client itself does not begin: a file that is not there, an option that it does not know."""
    said = fault.args[0].str()
    return KafkaRefused(f"cluster.kafka_options: {said}{_not_set() if 'sasl.username' in said else ''}")


def _is_refusal(error: KafkaError) -> bool:
    """A TLS alert is what a broker sends that does not want our certificate; the client takes it for an outage."""
    return error.code() in REFUSALS or "tls alert" in error.str()


def _hint(why: KafkaError) -> str:
    is_who = why.code() in WHO_WE_ARE
    return _not_set() or " (see GOSSAMER_KAFKA_USERNAME and GOSSAMER_KAFKA_PASSWORD)" if is_who else ""


def _not_set() -> str:
    missing = [name for name in ("kafka_username", "kafka_password") if not config.secret(name)]
    return f" (not set: {', '.join(f'GOSSAMER_{name.upper()}' for name in missing)})" if missing else ""


class Appender:
    """Appends messages to partitions of topics; one for a process. Close it when nobody waits any more."""

    def __init__(self, servers: str, options: Mapping[str, str], clock: Clock) -> None:
        told = options_of(servers, options)
        told |= {
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 5,
            "compression.type": "lz4",
            "delivery.timeout.ms": 2_147_483_647,  # an outage is no reason to forget a message
            "message.max.bytes": 2 * MESSAGE_BYTES_MAX,  # what is too large is for the topic to say
            "queue.buffering.max.messages": UNSENT_MESSAGES_MAX,
            "queue.buffering.max.kbytes": UNSENT_KIB_MAX,
        }
        self._trouble = ""
        try:
            self._producer = Producer(told | {"error_cb": self._note})
        except KafkaException as fault:
            raise wrong_options(fault) from None
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._unacknowledged: dict[int, tuple[float, int]] = {}  # when it was sent, and its bytes; oldest first
        self._number = 0
        self._unacknowledged_bytes = 0
        self._is_closing = False
        self._thread = threading.Thread(target=self._poll, name="kafka-appender", daemon=True)
        self._thread.start()

    def append(
        self,
        topic: str,
        partition: int,
        value: bytes | None,
        key: bytes | None = None,
        acknowledged: Callable[[int], None] = lambda offset: None,
        headers: Mapping[str, str] | None = None,
    ) -> asyncio.Future[int]:
        """The offset, once it is durable. `acknowledged` is called in the event loop, before the future's own.
        A compacted topic forgets a key that is appended without a value.

        Messages to one partition of a topic are there in the order in which they were appended."""
        done: asyncio.Future[int] = self._loop.create_future()
        number, self._number = self._number, self._number + 1
        bytes_ = len(value or b"") + len(key or b"")

        def delivered(error: KafkaError | None, message: Message) -> None:
            self._loop.call_soon_threadsafe(end, error, message.offset())

        def end(error: KafkaError | None, offset: int | None) -> None:
            self._unacknowledged.pop(number, None)
            self._unacknowledged_bytes -= bytes_
            if error is not None:
                if not done.done():
                    done.set_exception(KafkaRefused(f"{topic}: {error.str()}"))
                    done.exception()  # it may be that nobody waits for it
                return
            assert offset is not None
            self._trouble = ""
            acknowledged(offset)
            if not done.done():
                done.set_result(offset)

        try:
            told: dict[str, str | bytes | None] = {**(headers or {})}
            self._producer.produce(topic, value, key, partition, on_delivery=delivered, headers=told)
        except KafkaException as refused:  # it is too large
            raise KafkaRefused(f"{topic}: {refused.args[0].str()}") from None
        self._unacknowledged[number] = (self._clock.awake(), bytes_)  # `end` comes later, in this same loop
        self._unacknowledged_bytes += bytes_
        return done

    @property
    def unacknowledged_bytes(self) -> int:
        return self._unacknowledged_bytes

    @property
    def held_up(self) -> str:
        """Why nothing is acknowledged, once that has lasted; empty: all is well."""
        oldest = next(iter(self._unacknowledged.values()), None)
        if oldest is None:
            return ""
        late_s = self._clock.awake() - oldest[0]
        why = self._trouble or "no answer"
        return f"Kafka has acknowledged nothing for {late_s:.0f} s ({why})" if late_s > LATE_S else ""

    def close(self) -> None:
        """What is not acknowledged by now may be there or not."""
        self._is_closing = True
        self._producer.purge()
        self._thread.join()

    def _note(self, error: KafkaError) -> None:
        self._trouble = error.str()

    def _poll(self) -> None:
        while not self._is_closing:
            try:
                self._producer.poll(POLL_S)
            except (KafkaException, SystemError) as fault:
                self._trouble = str(fault)
