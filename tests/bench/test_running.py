"""One run: on which cores it is, what it leaves behind, and what it used when it had to be killed."""

from __future__ import annotations

import os
import select
import socket
import sys
from pathlib import Path

import pytest

from gossamer.bench import cores, nginx, running
from gossamer.bench.mix import Mix, Site
from gossamer.config import UsageError


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def topology(folder: Path, siblings: dict[int, str]) -> Path:
    for core, text in siblings.items():
        file = folder / f"cpu{core}" / "topology" / "thread_siblings_list"
        file.parent.mkdir(parents=True)
        file.write_text(text + "\n")
    return folder


def test_two_cores_are_one_for_the_server_and_one_for_the_crawler(tmp_path: Path) -> None:
    chosen = cores.apart({2, 5}, tmp_path)
    assert chosen.server == {2} and chosen.crawlers == {5}
    assert chosen.said == "nginx on core 2, each crawler on core 5"


@pytest.mark.parametrize("text", ["0,4", "0-1"])
def test_both_threads_of_the_servers_core_are_its_own_where_enough_are_left(tmp_path: Path, text: str) -> None:
    chosen = cores.apart(set(range(8)), topology(tmp_path, {0: text}))
    assert len(chosen.server) == 2 and 0 in chosen.server
    assert chosen.crawlers == set(range(8)) - chosen.server


def test_two_threads_of_one_core_are_shared_and_it_is_said(tmp_path: Path) -> None:
    chosen = cores.apart({0, 1}, topology(tmp_path, {0: "0-1"}))
    assert chosen.server == {0} and chosen.crawlers == {1}
    assert "thread of the same core" in chosen.said


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is only one core")
def test_the_server_alone_is_pinned_where_that_is_wanted() -> None:
    chosen = cores.choose("server")
    assert len(chosen.server) >= 1 and not chosen.crawlers
    assert chosen.said.endswith("crawlers on any")


@pytest.mark.parametrize("chosen", [cores.apart({3}), cores.choose("shared")], ids=["one core", "shared"])
def test_nobody_is_pinned_where_it_cannot_be_or_is_not_wanted_and_it_is_said(chosen: cores.Cores) -> None:
    assert not chosen.server and not chosen.crawlers
    assert chosen.said.startswith("nobody is pinned to a core: ")


def test_a_run_and_its_children_stay_on_their_cores_and_we_on_ours(work: Path) -> None:
    mine = os.sched_getaffinity(0)
    child = "import os; print(sorted(os.sched_getaffinity(0)))"
    used = running.run(
        python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"), work, 60.0, {max(mine)}
    )
    assert used.said.strip() == f"[{max(mine)}]"
    assert os.sched_getaffinity(0) == mine


def test_nothing_of_a_run_is_left_when_it_has_ended(work: Path) -> None:
    code = (
        "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)']).pid)"
    )
    used = running.run(python(code), work, 60.0)
    assert used.code == 0 and used.elapsed_s < 30
    try:
        child = os.pidfd_open(int(used.said))
    except ProcessLookupError:
        return  # ended, and buried by whoever inherited it
    assert select.select([child], [], [], 10)[0]
    os.close(child)


def test_what_a_run_used_is_known_also_when_it_had_to_be_killed(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "STOP_S", 0.5)
    busy = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    code = (
        f"import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        f"subprocess.run([sys.executable, '-c', {busy!r}])"
    )
    used = running.run(python(code), work, 4.0)
    assert used.was_stopped and used.code == -9
    assert used.cpu_s > 0.2  # a twentieth of a processor: those who start it have a fifth of that


def test_a_port_that_is_taken_is_told_instead_of_measuring_another_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        site = Site(Mix(port=taken.getsockname()[1]), tmp_path)
        server = nginx.Nginx(Path(sys.executable), "1")
        with pytest.raises(UsageError, match="is taken"), nginx.serving(server, site, tmp_path):
            pass
