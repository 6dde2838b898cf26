"""What some tests of the bench need that is not ours."""

from __future__ import annotations

import shutil

import pytest

from gossamer.bench.nginx import USUAL_PLACES

needs_nginx = pytest.mark.skipif(
    not (shutil.which("nginx") or shutil.which("nginx", path=USUAL_PLACES)),
    reason="nginx is not here: apt install nginx",
)
