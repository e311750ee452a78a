"""Time a new user's first steps, from creating an environment to a first balanced applyInPandas.

python -m tools.release.newcomer DIRECTORY. It builds the wheel before it starts the clock. Then pip
downloads all packages without a cache, and the six lines of Python in docs/start.md run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.release.__main__ import KEPT, ROOT, build

_MOST = 300.0


def main(directory: Path) -> int:
    """Print the seconds of each step; return 1 if a step fails or all take five minutes or more."""
    wheel = build(directory)
    (lines,) = re.findall(r"^```python\n(from evenkey.*?)^```", _page(), re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as place:  # outside of the checkout
        python = Path(place, "first", "bin", "python")
        steps: dict[str, list[str | Path]] = {
            "python3 -m venv first": [sys.executable, "-m", "venv", python.parents[1]],
            "pip install evenkey[java]": [
                *(python, "-m", "pip", "install", "--quiet", "--no-cache-dir"),
                f"evenkey[java] @ {wheel.as_uri()}",
            ],
            "six lines": [python, "-c", lines],
        }
        settings = {**KEPT, "PATH": f"{python.parent}:/usr/bin:/bin"}
        seconds = []
        for name, command in steps.items():
            began = time.monotonic()
            done = subprocess.run(command, cwd=place, env=settings, check=False)  # noqa: S603 - ours
            if done.returncode:
                return 1
            seconds.append(time.monotonic() - began)
            print(f"{name:<28}{seconds[-1]:6.1f} s", flush=True)
    print(f"{'in all':<28}{sum(seconds):6.1f} s")
    return int(sum(seconds) >= _MOST)


def _page() -> str:
    text = (ROOT / "docs" / "start.md").read_text("utf-8")
    return text.partition("## 4.")[2]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
