"""A real Apache Kafka 4.3.1 (KRaft) on loopback: one broker or several.

    with Kafka(brokers=3) as kafka:
        Producer({"bootstrap.servers": kafka.bootstrap})
        kafka.kill(2); kafka.start(2)           # SIGKILL one of them, and have it back with its disk

The first use fetches its jars (kafka_jars.py). Kafka's own tool makes the 411 bytes that a formatted disk starts with
(1 s). The first clean stop leaves an archive of loaded classes (52 MB), which halves the start-up of all later ones.

A broker dies with the thread that started it (PR_SET_PDEATHSIG): start it from one that lives as long. Brokers listen
on 127.0.0.1 only.
"""

from __future__ import annotations

import base64
import contextlib
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from gossamer.local_servers.kafka_jars import CACHE, download, java
from gossamer.local_servers.process import ServerFailed, end_with_parent, free_ports

START_S = 60.0
STARTED = b"Kafka Server started"
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss256k")  # half the CPU of a start, a third of the memory

# Small buffers and few threads: a broker of 150 MB. Everything internal has one partition and as many copies as fit.
SETTINGS = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",  # 128 MB by default, allocated at the start
    "num.network.threads": "1",
    "num.io.threads": "2",
    "group.coordinator.threads": "1",
    # A broker that was killed may register again when its old session is over: 9 s by default.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # Tests want to lose members quickly; what a client may ask for has its bounds here.
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
}


class Kafka:
    def __init__(
        self,
        folder: Path | str | None = None,
        *,
        brokers: int = 1,
        port: int = 0,
        heap: str = "128m",
        settings: dict[str, str] | None = None,
        cache: Path = CACHE,
        java_options: tuple[str, ...] = QUICK,
        protocols: tuple[str, ...] = (),
    ) -> None:
        """`folder`: a temporary one unless named. `port`: of the first broker, the others follow; 0: any free.
        `protocols`: such as SASL_SSL; each has a listener beside the one without any, and `settings` say more."""
        self._is_temporary = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="kafka-"))
        self.numbers = range(1, brokers + 1)
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self._ports = [port + i for i in range(2 * brokers)] if port else free_ports(2 * brokers)
        self._more_ports = {name: free_ports(brokers) for name in protocols}
        self._heap, self._settings, self._cache, self._options = heap, settings or {}, cache, java_options

    @property
    def _classes(self) -> Path:
        """The archive of loaded classes: of one Java and one set of jars; another Java passes it over."""
        return self._cache / "classes.jsa"

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{self._ports[number - 1]}" for number in self.numbers)

    def bootstrap_of(self, protocol: str) -> str:
        return ",".join(f"localhost:{port}" for port in self._more_ports[protocol])

    def __enter__(self) -> Kafka:
        download(self._cache)
        self._format()
        try:
            for number in self.numbers:
                self.launch(number)
            for number in self.numbers:
                self.wait(number)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_temporary and self._classes.exists():
            for number in list(self.processes):
                self.kill(number)  # nobody needs its disk; three that stop at once wait 6 s for each other
        for process in self.processes.values():
            process.terminate()
        for number in list(self.processes):
            self.stop(number)
        if self._is_temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- one broker --------------------------------------------------------------------------------------

    def start(self, number: int) -> None:
        self.launch(number)
        self.wait(number)

    def launch(self, number: int) -> None:
        """Start it, and do not wait until it is ready."""
        home, classes = self.folder / str(number), self._classes
        options = [f"-Xmx{self._heap}", *self._options]
        if classes.exists():
            options += [f"-XX:SharedArchiveFile={classes}", "-Xshare:auto"]
        elif number == 1:
            options += [f"-XX:ArchiveClassesAtExit={home / 'classes.jsa'}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
        options += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
        options += ["-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info"]
        with (home / "log").open("wb") as log:
            self.processes[number] = subprocess.Popen(
                [java(), *options, "-cp", f"{self._cache}/*", "kafka.Kafka", str(home / "properties")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for whoever started it
                preexec_fn=end_with_parent,  # noqa: PLW1509 - it calls nothing but prctl
            )

    def wait(self, number: int) -> None:
        """Until it has joined the others and serves."""
        log, process, until = self.folder / str(number) / "log", self.processes[number], time.monotonic() + START_S
        while STARTED not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > until:
                said = log.read_text(errors="replace")[-3000:]
                raise ServerFailed(f"broker {number} did not start (code {process.poll()}):\n{said}")
            time.sleep(0.02)

    def stop(self, number: int) -> None:
        """Orderly: it hands its leaderships over and closes its files."""
        process = self.processes.pop(number)
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        made = self.folder / str(number) / "classes.jsa"
        if made.exists():
            with contextlib.suppress(OSError):
                shutil.move(made, self._classes)

    def kill(self, number: int) -> None:
        """As a power cut would, but that the system keeps what was written."""
        self.signal(number, signal.SIGKILL)
        self.processes.pop(number).wait()

    def signal(self, number: int, what: signal.Signals) -> None:
        self.processes[number].send_signal(what)

    # ---- the disk ----------------------------------------------------------------------------------------

    def _format(self) -> None:
        copies, enough = str(min(3, len(self.numbers))), str(2 if len(self.numbers) >= 3 else 1)
        voters = ",".join(f"{n}@127.0.0.1:{self._ports[len(self.numbers) + n - 1]}" for n in self.numbers)
        replicated = {
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": enough,
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": enough,
            "default.replication.factor": copies,
            "min.insync.replicas": enough,
        }
        cluster_id = uuid_text()
        for number in self.numbers:
            home = self.folder / str(number)
            client, controller = self._ports[number - 1], self._ports[len(self.numbers) + number - 1]
            more = {name: ports[number - 1] for name, ports in self._more_ports.items()}
            bound = "".join(f",{name}://127.0.0.1:{port}" for name, port in more.items())
            named = "".join(f",{name}://localhost:{port}" for name, port in more.items())
            own = {
                "node.id": str(number),
                "controller.quorum.voters": voters,
                "listeners": f"PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}{bound}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{client}{named}",
                "listener.security.protocol.map": ",".join(
                    f"{name}:{'PLAINTEXT' if name == 'CONTROLLER' else name}"
                    for name in ("PLAINTEXT", "CONTROLLER", *more)
                ),
                "log.dirs": str(home / "data"),
            }
            lines = (f"{name}={value}\n" for name, value in (SETTINGS | replicated | own | self._settings).items())
            home.mkdir(parents=True, exist_ok=True)
            (home / "properties").write_text("".join(lines))
            if (home / "data").exists():
                continue
            (home / "data").mkdir()
            meta = f"version=1\ncluster.id={cluster_id}\nnode.id={number}\ndirectory.id={uuid_text()}\n"
            (home / "data" / "meta.properties").write_text(meta)
            shutil.copy(self._first_records(), home / "data" / "bootstrap.checkpoint")

    def _first_records(self) -> Path:
        """Which features the cluster starts with. Without them it has no KIP-848 groups. Kafka makes them once."""
        made = self._cache / "bootstrap.checkpoint"
        if not made.exists():
            with tempfile.TemporaryDirectory() as home:
                ports = "controller.quorum.voters=1@127.0.0.1:9\n"
                ports += "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9\n"
                some = f"process.roles=broker,controller\nnode.id=1\n{ports}controller.listener.names=CONTROLLER\n"
                Path(home, "p").write_text(f"{some}log.dirs={home}/data\n")
                tool = [java(), *QUICK, "-cp", f"{self._cache}/*", "kafka.tools.StorageTool"]
                subprocess.run(
                    [*tool, "format", "-t", uuid_text(), "-c", f"{home}/p"],
                    check=True,
                    capture_output=True,
                    timeout=60,
                )
                shutil.move(f"{home}/data/bootstrap.checkpoint", made)
        return made


def uuid_text() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "a", 1)  # no leading dash
