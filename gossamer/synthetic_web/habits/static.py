"""The ordinary part of a synthetic web as files, for a server that is faster than any in Python.

One folder for each host, named as links spell it: index.html for the root page, p/1, p/2, ... and robots.txt where
the host has one. `write_nginx_conf` writes the few lines that make nginx serve them: the Host header names the
folder, and clients from other machines are turned away.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gossamer.synthetic_web.answer import Request
from gossamer.synthetic_web.html import HTML
from gossamer.synthetic_web.pages import path_of
from gossamer.synthetic_web.web import Web

NGINX_CONF = """\
worker_processes {workers};
worker_rlimit_nofile 65536;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
events {{ worker_connections 16384; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  open_file_cache max=100000 inactive=10m;
  client_body_temp_path {folder}/temporary;
  types {{ }}
  default_type "{html}";
  server {{
    listen {port} backlog=4096;
    allow 127.0.0.0/8;
    deny all;
    root {folder}/$host;
    index index.html;
    location = /robots.txt {{ default_type text/plain; }}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class StaticSite:
    folder: Path
    port: int
    first_url: str
    files: int
    file_bytes: int


def write_static(web: Web, folder: Path) -> StaticSite:
    """Write all ordinary pages. The port has to be known before, since links spell it out."""
    if not web.port:
        raise ValueError("Give the web a port (WebOptions.port) before writing it: its links contain the port.")
    now, files, file_bytes = web.options.born_at, 0, 0
    for host in range(web.options.hosts):
        root = folder / web.atlas.hostname(host)
        (root / "p").mkdir(parents=True, exist_ok=True)
        for path in ("/robots.txt", *map(path_of, range(web.options.pages_per_host))):
            answer = web.answer(Request(host, path, now))
            if answer.status == 200 and answer.body:
                file = root / ("index.html" if path == "/" else path[1:])
                file.write_bytes(answer.body)
                files, file_bytes = files + 1, file_bytes + len(answer.body)
    return StaticSite(folder, web.port, web.url(0), files, file_bytes)


def write_nginx_conf(site: StaticSite, *, workers: int = 1) -> Path:
    """Start it with `nginx -c FILE -p FOLDER`; it stays in the foreground."""
    file = site.folder / "nginx.conf"
    file.write_text(NGINX_CONF.format(workers=workers, folder=site.folder.resolve(), port=site.port, html=HTML))
    return file
