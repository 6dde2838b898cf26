"""Brokers that want a password or a certificate, over TLS, and allow no more than the documents ask for.

Secrets come from the environment; they are in no folder, on no board, and in nothing that is said.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from redis import Redis

from gossamer.cluster.kafka.topics import Topics
from tests.node.cluster import Cluster, cluster
from tests.s3.server import SECRETS
from tests.servers.secure_kafka import CLIENT, ENVIRONMENT, KEY_PASSWORD, PASSWORD, USER, secure_kafka
from tests.servers.tls import tls_in_front_of
from tests.servers.valkey import Valkey

VALKEY_RIGHTS = ("+@read", "+@write", "+@scripting", "+@connection", "+time")  # as docs/cluster.md has them
WRONG = "wrong-but-as-secret"


def name_of(made: Cluster) -> str:
    (line,) = [line for line in made.file.read_text().splitlines() if line.startswith("name = ")]
    return line.split('"')[1]


def on_the_board(made: Cluster) -> bytes:
    """All of it, keys and values."""
    options = {"bootstrap.servers": secure_kafka().broker.bootstrap, "group.id": "look", "enable.partition.eof": True}
    consumer = Consumer(options)
    consumer.assign([TopicPartition(Topics(name_of(made)).board, 0, 0)])
    read = b""
    while (message := consumer.poll(10)) is not None and message.error() is None:
        read += (message.key() or b"") + (message.value() or b"")
    consumer.close()
    return read


def must_not_have(secret: str, folder: Path, *said: str) -> None:
    assert not [file for file in folder.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]
    assert not [text for text in said if secret in text]


async def crawled(made: Cluster, principal: str) -> list[str]:
    """The whole of it, by somebody who is allowed what the documents ask for; all that was said."""
    secure_kafka().allow(principal, name_of(made))
    await made.crawl()
    await made.start("n1")
    await made.ended("n1")
    status = await made.run("status", made.file, "--json")
    assert (status.code, '"ended": "complete"' in status.out) == (0, True), status.err
    pages = await made.pages()
    assert len(pages) > 30
    config = await made.run("config", made.file)
    assert config.code == 0, config.err
    assert b"crawl" in on_the_board(made)
    return [made.said("n1"), status.out, status.err, config.out, config.err, on_the_board(made).decode("latin-1")]


async def test_a_crawl_over_tls_with_passwords_for_all_servers_leaves_none_behind(folder: Path) -> None:
    secure, valkey_password = secure_kafka(), "hush-hush-valkey"
    settings = secure.by_password()
    with Valkey(requirepass="not-for-us") as valkey, Redis(port=valkey.port, password="not-for-us") as owner:
        context = secure.authority.issue("localhost").context()
        async with (
            tls_in_front_of(valkey.port, context) as port,
            cluster(folder, brokers=secure.broker, cluster__redis=f"rediss://localhost:{port}/0", **settings) as made,
        ):
            keys = f"~{{{name_of(made)}}}:*"
            owner.execute_command("ACL", "SETUSER", "crawler", "on", f">{valkey_password}", keys, *VALKEY_RIGHTS)
            made.environment |= ENVIRONMENT
            made.environment |= {"GOSSAMER_REDIS_USERNAME": "crawler", "GOSSAMER_REDIS_PASSWORD": valkey_password}
            made.environment["SSL_CERT_FILE"] = secure.ca
            said = await crawled(made, f"User:{USER}")
            assert owner.dbsize(), "nothing was shared"
            assert owner.execute_command("ACL", "LOG") == []  # nothing was denied
    for secret in (PASSWORD, valkey_password, SECRETS["secret_access_key"]):
        must_not_have(secret, folder, *said)


async def test_a_certificate_says_who_we_are(folder: Path) -> None:
    secure = secure_kafka()
    settings = secure.by_certificate()
    async with cluster(folder, brokers=secure.broker, **settings) as made:
        made.environment["GOSSAMER_KAFKA_KEY_PASSWORD"] = KEY_PASSWORD
        said = await crawled(made, f"User:CN={CLIENT}")
    must_not_have(KEY_PASSWORD, folder, *said)


@pytest.mark.parametrize(
    ("environment", "hint"),
    [
        (ENVIRONMENT | {"GOSSAMER_KAFKA_PASSWORD": WRONG}, "see GOSSAMER_KAFKA_USERNAME and GOSSAMER_KAFKA_PASSWORD"),
        ({}, "not set: GOSSAMER_KAFKA_USERNAME, GOSSAMER_KAFKA_PASSWORD"),
    ],
    ids=["wrong", "none"],
)
async def test_a_password_that_is_wrong_is_said_once_and_ends_the_command(
    folder: Path, environment: dict[str, str], hint: str
) -> None:
    secure = secure_kafka()
    settings = secure.by_password()
    async with cluster(folder, brokers=secure.broker, **settings) as made:
        made.environment |= environment
        for words in (
            ("crawl", "--cluster", made.file, made.web.url(0)),
            ("status", made.file),
            ("pause", made.file),
            ("pages", made.file),
            ("node", "--cluster", made.file, "--name", "n1", "--dir", folder / "n1"),
        ):
            ran = await made.run(*map(str, words))
            (line,) = [line for line in ran.err.splitlines() if not line.startswith("gossamer: node n1, in")]
            assert ran.code == 1 and hint in line and line.startswith("gossamer: "), (words, ran)
            assert WRONG not in ran.out + ran.err
    must_not_have(WRONG, folder)


async def test_who_is_not_allowed_hears_what_is_missing(folder: Path) -> None:
    secure = secure_kafka()
    settings = secure.by_password()
    async with cluster(folder, brokers=secure.broker, **settings) as made:
        made.environment |= ENVIRONMENT
        ran = await made.run("crawl", "--cluster", made.file, made.web.url(0))
        (line,) = ran.err.splitlines()
        assert ran.code == 1 and "uthorization" in line and name_of(made) in line, ran


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ssl.ca.location": ""}, "certificate verify failed"),
        ({"ssl.ca.location": "/nowhere.pem"}, "cluster.kafka_options: "),
        ({"sasl.mechanism": "PLAIN"}, "supported mechanisms: SCRAM-SHA-512"),
        ({"no.such": "thing"}, 'No such configuration property: "no.such"'),
    ],
    ids=["stranger", "no file", "mechanism", "no such option"],
)
async def test_options_that_do_not_fit_are_named(folder: Path, changed: dict[str, str], said: str) -> None:
    secure = secure_kafka()
    chosen = secure.by_password()
    options = chosen["cluster__kafka_options"] | changed
    chosen["cluster__kafka_options"] = {name: value for name, value in options.items() if value}
    async with cluster(folder, brokers=secure.broker, **chosen) as made:
        made.environment |= ENVIRONMENT
        for verb in ("status", "crawl"):
            words = ("--cluster", made.file, made.web.url(0)) if verb == "crawl" else (made.file,)
            ran = await made.run(verb, *words)
            (line,) = ran.err.splitlines()
            assert ran.code == 1 and said in line, ran


@pytest.mark.parametrize(
    "option", ["sasl.password", "ssl.key.password", "ssl.key.pem", "sasl.oauthbearer.client.secret"]
)
async def test_no_secret_is_taken_from_a_file(folder: Path, option: str) -> None:
    secure = secure_kafka()
    async with cluster(folder, brokers=secure.broker, cluster__kafka_options={option: WRONG}) as made:
        ran = await made.run("crawl", "--cluster", made.file, made.web.url(0))
        assert ran.code == 2 and "environment" in ran.err and WRONG not in ran.err, ran
