"""Gossamer as a crawler of the comparison: this version, and any other that lies in a folder of its own.

A checkout is run with its own code: its folder comes first on Python's path, and what is imported is looked at before
anything is measured. It runs in its own `.venv` where it has one, and else in our environment, so that the libraries
are the same. Both have the same settings and begin every second round each.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gossamer.bench.crawler import Crawler
from gossamer.bench.environment import Environment, NotInstalled, run
from gossamer.bench.mix import Site
from gossamer.config import UsageError

ROOT = Path(__file__).parent.parent.parent  # of the package, for a process in another folder
WHO = """
import gossamer, platform
print(gossamer.__version__, platform.python_version(), gossamer.__file__, sep="\\n")
try:
    from gossamer.process.which_reader import reader_text
except ImportError:  # a version before there was another
    reader_text = "Python".__str__
print(reader_text())
"""

NO_DELAY = {
    "politeness.delay_s": "0",
    "politeness.latency_factor": "0",
    "politeness.ip_requests_per_s": "1000000",
    "politeness.ip_burst": "1000000",
    "politeness.site_requests_per_s": "none",
    "crawl.allow_private": "true",
}


def gossamer(environment: Environment) -> Crawler:
    return version_in(ROOT, Path(sys.executable), environment, "gossamer")


def other_version(path: Path, environment: Environment, name: str) -> Crawler:
    own = path / ".venv" / "bin" / "python"
    return version_in(path, own if own.exists() else Path(sys.executable), environment, name)


def checkout(text: str) -> Path:
    path = Path(text).expanduser().absolute()
    if not (path / "gossamer" / "__init__.py").is_file():
        raise UsageError(f"{text} is no checkout of Gossamer: it has no gossamer/__init__.py")
    return path


def version_in(path: Path, interpreter: Path, environment: Environment, name: str) -> Crawler:
    # Compiled, as pip leaves a package, and as the peers are. Else each process takes half a second more to start.
    keep_compiled = ["-u", "PYTHONDONTWRITEBYTECODE", f"PYTHONPYCACHEPREFIX={environment.folder.parent / 'compiled'}"]
    # It runs in a folder from which the code is not found.
    python = ["env", *keep_compiled, f"PYTHONPATH={path}", str(interpreter)]
    run(*python, "-m", "compileall", "-q", str(path / "gossamer"))
    # -P: not what lies in the folder that we happen to be in.
    version, python_version, file, reader = run(*python, "-P", "-c", WHO).split("\n")[:4]
    if not Path(file).resolve().is_relative_to(path.resolve()):
        raise NotInstalled(f"the code of {path} is not what runs: Python takes {file}")

    def command(site: Site) -> list[str]:
        changed = NO_DELAY | ({"fetch.ca_file": str(site.certificate)} if site.mix.is_tls else {})
        flags = [word for key, value in changed.items() for word in ("--set", f"{key}={value}")]
        return [*python, "-m", "gossamer", "crawl", "--dir", "crawl", "--file", str(site.seeds), *flags]

    changed = ", ".join(f"{key}={value}" for key, value in NO_DELAY.items())
    at = revision(path)
    code = f"; commit {at}" if name == "gossamer" and at else f"; {path}{f', commit {at}' if at else ''}"
    told = f"defaults, and {changed}; Python {python_version}; pages read by {reader}{code}"
    return Crawler(name, version, told, command)


def revision(path: Path) -> str:
    """The commit of a checkout, and whether files differ from it; nothing where git does not know."""
    if not (path / ".git").exists():
        return ""
    command = ["git", "-C", str(path), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
