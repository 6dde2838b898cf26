"""Build the documentation site: `./run docs`, or `python docs/build.py FOLDER`.

Pages link to files of the checkout, and some have parts that the code knows best. So the site is built from a copy:

    docs/**              as they are; `<!-- made by docs/build.py: NAME -->` is replaced by what the code says (PARTS)
    ARCHITECTURE.md ...  beside them, in small letters
    source/**            every other file that a page links to, as text, and a list for every folder

A link to something that is not there, or a page without a place, stops the build (--strict).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from gossamer import cli, config
from gossamer.commands.parser import GROUPS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BESIDE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)\s#]+)")
MADE = re.compile(r"<!-- made by docs/build\.py: (\w+) -->")


# --- What the code says ---


def settings() -> str:
    lines: list[str] = []
    section = ""
    for row in config.load(None, None, {}).rows():
        before, section = section, row.key.partition(".")[0]
        if section != before:
            lines += ["", f"## {section}", "", f"{config.SECTIONS[section].__doc__}", ""]
            lines += ["| setting | default | what it may be | meaning |", "|---|---|---|---|"]
        default = "none" if row.value is None else typed(row.key, row.value)
        flag = f" (`{config.FLAGS[row.key]}`)" if row.key in config.FLAGS else ""
        cells = (f"`{row.key}`{flag}", f"`{default}`", config.wanted(row.key), row.meaning)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


TIMES = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
SIZES = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}


def typed(key: str, value: object) -> str:
    """A value as one would type it: 7d rather than 604800.0."""
    if isinstance(value, tuple) and value:
        return ", ".join(typed(key, part) for part in value)
    if isinstance(value, int | float) and value >= 1 and not key.endswith("_per_s"):
        units = TIMES if re.search(r"_s(_max|_min)?$", key) else SIZES if "_bytes" in key else {}
        for unit, one in units.items():
            if value % one == 0:
                return f"{value / one:.0f}{unit}"
    return config.as_toml(value)


def commands() -> str:
    os.environ |= {"COLUMNS": "96", "NO_COLOR": "1"}
    return "\n\n".join(
        f"## {group.title}\n\n"
        + "\n\n".join(f"### gossamer {verb}\n\n```text\n{help_of(verb).strip()}\n```" for verb in group.verbs)
        for group in GROUPS
    )


def help_of(verb: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        cli.run([verb, "--help"])
    return printed.getvalue()


def decisions() -> str:
    pages = sorted(page for page in (DOCS / "decisions").glob("*.md") if page.name != "index.md")
    return "\n".join(
        f"- [{page.read_text(encoding='utf-8').partition(chr(10))[0][2:]}]({page.name})" for page in pages
    )


PARTS: dict[str, Callable[[], str]] = {"settings": settings, "commands": commands, "decisions": decisions}


# --- The copy ---


def home_of(path: Path) -> Path:
    """Where in the copy a file or folder of the checkout is found."""
    inside = path.relative_to(ROOT)
    if inside == Path("README.md"):
        return Path("index.md")
    if str(inside) in BESIDE:
        return Path(inside.name.lower())
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS) / ("index.md" if path.is_dir() else "")
    return "source" / inside / "index.md" if path.is_dir() else Path("source", f"{inside}.txt")


def copy(pages: Path) -> None:
    shutil.copytree(DOCS, pages, ignore=shutil.ignore_patterns("*.md", "*.py", "*.toml", "__pycache__"))
    linked: set[Path] = set()

    def rewritten(page: Path) -> None:
        def place(found: re.Match[str]) -> str:
            target = (page.parent / found[1]).resolve()
            linked.add(target)
            return os.path.relpath(home_of(target), home_of(page).parent)

        text = LINK.sub(place, page.read_text(encoding="utf-8"))
        write(pages / home_of(page), MADE.sub(lambda found: PARTS[found[1]](), text))

    for page in [*DOCS.rglob("*.md"), *(ROOT / name for name in BESIDE)]:
        rewritten(page)
    for path in sorted(linked):
        if home_of(path).parts[0] == "source":
            if path.is_dir():
                inside = sorted(file for file in path.rglob("*.py"))
                names = [f"- [{file.relative_to(path)}]({file.relative_to(path)}.txt)" for file in inside]
                write(pages / home_of(path), "\n".join([f"# {path.relative_to(ROOT)}", "", *names]))
            for file in inside if path.is_dir() else [path]:
                write(pages / home_of(file), file.read_text(encoding="utf-8"))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def build(site: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy(place / "pages")
        shutil.copy(DOCS / "zensical.toml", place)
        # A program of its own: it leaves threads behind, and its messages are for whoever writes the pages.
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        subprocess.run(command, cwd=place, check=True)
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(place / "site", site)
    print(f"{site}/index.html")


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]))
    except subprocess.CalledProcessError as fault:
        sys.exit(fault.returncode)
