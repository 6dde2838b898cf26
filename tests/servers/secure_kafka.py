"""A broker that wants to know who we are: by a password (SCRAM-SHA-512) or by a certificate, both over TLS.

Nobody may do anything but those who were given leave (`allow`), and the tests themselves, who come in without TLS.
"""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from gossamer.local_servers.kafka import Kafka
from tests.fetch.certificates import Authority
from tests.servers.kafka import needed

USER, PASSWORD = "crawler", "hush-hush-kafka"
ENVIRONMENT = {"GOSSAMER_KAFKA_USERNAME": USER, "GOSSAMER_KAFKA_PASSWORD": PASSWORD}
KEY_PASSWORD = "hush-hush-key"
CLIENT = "client.example.org"  # who a client is by its certificate
# As docs/cluster.md has them.
TOPIC_RIGHTS = ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE", "DELETE")


class SecureKafka:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kafka-keys-"))
        self.authority = Authority()
        self.ca = self._file("ca.pem", self.authority.pem)
        own = self.authority.issue("localhost")
        client = self.authority.issue(CLIENT, is_client=True)
        self.certificate = self._file("client.pem", client.chain_pem)
        key = load_pem_private_key(client.key_pem, None)
        locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(KEY_PASSWORD.encode()))
        self.key = self._file("client-key.pem", locked)
        jaas = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        settings = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self._file("broker.pem", own.key_pem + own.chain_pem),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.ca,
            "listener.name.ssl.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": jaas,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        self.broker = Kafka(protocols=("SASL_SSL", "SSL"), settings=settings)
        self.broker.__enter__()
        self._admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 2})
        scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        wanted = self._admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion(USER, scram, PASSWORD.encode())]
        )
        wanted[USER].result(30)

    def allow(self, principal: str, name: str) -> None:
        """All that a cluster of this name needs, and nothing else."""
        rights = [(ResourceType.TOPIC, f"{name}.", ResourcePatternType.PREFIXED, each) for each in TOPIC_RIGHTS]
        rights.append((ResourceType.GROUP, name, ResourcePatternType.PREFIXED, "READ"))
        bindings = [
            AclBinding(kind, what, how, principal, "*", AclOperation[right], AclPermissionType.ALLOW)
            for kind, what, how, right in rights
        ]
        for done in self._admin.create_acls(bindings).values():
            done.result(30)

    def by_password(self) -> dict[str, Any]:
        """Settings of a cluster, for `tests.node.cluster`."""
        options = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "ssl.ca.location": self.ca}
        return {"cluster__kafka": self.broker.bootstrap_of("SASL_SSL"), "cluster__kafka_options": options}

    def by_certificate(self) -> dict[str, Any]:
        files = {"ssl.certificate.location": self.certificate, "ssl.key.location": self.key}
        options = {"security.protocol": "SSL", "ssl.ca.location": self.ca, **files}
        return {"cluster__kafka": self.broker.bootstrap_of("SSL"), "cluster__kafka_options": options}

    def _file(self, name: str, text: bytes) -> str:
        (self.folder / name).write_bytes(text)
        return str(self.folder / name)


@cache
def secure_kafka() -> SecureKafka:
    needed()
    made = SecureKafka()
    atexit.register(made.broker.__exit__)
    return made
