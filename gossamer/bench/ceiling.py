"""The ceiling: what nginx gives on this machine to a client that loads pages and does nothing else with them.

wrk asks for every page of the site in turn, on connections that are kept. It shares the machine with nginx just as a
crawler does. No crawler can be faster; how near one comes says how much of the machine its own work takes.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from gossamer.bench import nginx as server
from gossamer.bench.cores import Cores, on
from gossamer.bench.environment import NotInstalled, run
from gossamer.bench.mix import Site
from gossamer.bench.nginx import Nginx

SECONDS = 5
SCRIPT = """\
local hosts, pages, at = {{}}, {pages}, 0
for line in io.lines("{seeds}") do hosts[#hosts + 1] = line:match("//([^/]+)/") end
request = function()
  at = at + 1
  local page = math.floor(at / #hosts) % pages
  return wrk.format("GET", page == 0 and "/" or "/p/" .. page, {{ Host = hosts[at % #hosts + 1] }})
end
"""


def pages_per_s(nginx: Nginx, site: Site, folder: Path, cores: Cores) -> float:
    wrk = shutil.which("wrk")
    if wrk is None:
        raise NotInstalled("the ceiling is measured by wrk, which is not on the PATH: apt install wrk")
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "requests.lua"
    script.write_text(SCRIPT.format(pages=site.mix.pages_per_host, seeds=site.seeds.absolute()), encoding="utf-8")
    first = site.seeds.read_text(encoding="ascii").split()[0]
    flags = ("--threads", "1", "--connections", "64", "--duration", f"{SECONDS}s", "--script", str(script))
    with server.serving(nginx, site, folder, cores.server), on(cores.crawlers):
        said = run(wrk, *flags, first)
    found = re.search(r"Requests/sec:\s+([\d.]+)", said)
    if found is None or "Non-2xx" in said:
        raise NotInstalled(f"wrk did not get pages: {' '.join(said.split())[-200:]}")
    return float(found[1])
