"""A wheel with the native reader in it, for the machine that this runs on: its users need no compiler.

    python native/wheel.py [--target aarch64-unknown-linux-gnu] [--out dist]

It builds the library with cargo and the pure wheel with hatchling, puts the one into the other, and names the result
after the system that it is for. One wheel does for all versions of Python, since the library has nothing of Python in
it. `--target` is for cargo: its standard library and a linker for that system have to be there. Run it once on (or
for) each of Linux x86-64, Linux arm64 and macOS, and upload the wheels beside the pure one.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
INSIDE = "gossamer/process/gossamer_native.so"
GLIBC = re.compile(rb"GLIBC_2\.(\d+)")
MACOS = "11_0"  # the oldest that Rust builds for on arm64


def library(target: str | None, build: Path) -> Path:
    call = ["cargo", "build", "--release", "--manifest-path", str(HERE / "Cargo.toml"), "--target-dir", str(build)]
    subprocess.run([*call, *(["--target", target] if target else [])], check=True)
    found = sorted(build.glob(f"{target or ''}/release/libgossamer_native.*".lstrip("/")))
    return next(path for path in found if path.suffix in (".so", ".dylib"))


def platform_of(target: str | None, built: bytes) -> str:
    machine = (target or platform.machine()).partition("-")[0].replace("arm64", "aarch64")
    if "darwin" in (target or sys.platform):
        return f"macosx_{MACOS}_{machine.replace('aarch64', 'arm64')}"
    newest = max((int(found) for found in GLIBC.findall(built)), default=17)
    return f"manylinux_2_{max(17, newest)}_{machine}"


def with_library(pure: Path, built: bytes, system: str, out: Path) -> Path:
    name, version, *_ = pure.name.split("-")
    tag = f"py3-none-{system}"
    path = out / f"{name}-{version}-{tag}.whl"
    digest = base64.urlsafe_b64encode(hashlib.sha256(built).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(pure) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.endswith(".dist-info/WHEEL"):
                content = content.replace(b"Tag: py3-none-any", f"Tag: {tag}".encode())
                content = content.replace(b"Root-Is-Purelib: true", b"Root-Is-Purelib: false")
                wheel = content
            if entry.filename.endswith(".dist-info/RECORD"):
                content = re.sub(rb"(?m)^(\S+\.dist-info/WHEEL),.*$", rb"\1,", content)
                changed = base64.urlsafe_b64encode(hashlib.sha256(wheel).digest()).rstrip(b"=").decode()
                content = re.sub(
                    rb"(?m)^(\S+\.dist-info/WHEEL),$", rf"\1,sha256={changed},{len(wheel)}".encode(), content
                )
                content += f"{INSIDE},sha256={digest},{len(built)}\n".encode()
            new.writestr(entry, content)
        library_entry = zipfile.ZipInfo(INSIDE)
        library_entry.external_attr = 0o755 << 16
        library_entry.compress_type = zipfile.ZIP_DEFLATED
        new.writestr(library_entry, built)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", help="as cargo names it; without it: this machine")
    parser.add_argument("--out", type=Path, default=HERE.parent / "dist")
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder)
        built = library(wanted.target, build / "native").read_bytes()
        call = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(build / "pure")]
        subprocess.run(call, cwd=HERE.parent, check=True)
        pure = next((build / "pure").glob("*.whl"))
        print(with_library(pure, built, platform_of(wanted.target, built), wanted.out))


if __name__ == "__main__":
    main()
