"""Write ``requirements.lock``: every package that ``requirements.txt`` installs, with its version and SHA-256.

``make lock`` runs it. The packages are those of the Python and the platform that it runs on, and of pip's settings: where an index of
CPU wheels is named (``PIP_EXTRA_INDEX_URL``), torch is the CPU wheel. No index and no path is written.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WANTED, LOCK = "requirements.txt", "requirements.lock"


def locked(report: dict) -> str:
    """The lock as text, of what ``pip install --dry-run --report`` says."""
    machine = report["environment"]
    where = f"Python {machine['python_version']}, {machine['sys_platform']}, {machine['platform_machine']}"
    lines = [f'# Written by `make lock` for {where}. Install: docs/dependencies.md, "Install".']
    for package in sorted(report["install"], key=lambda one: _name(one)):
        digest = package["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
        if not digest:
            raise SystemExit(
                f"lock: {_name(package)}: pip names no SHA-256; install it from an index instead of a folder"
            )
        lines.append(f"{_name(package)}=={package['metadata']['version']} --hash=sha256:{digest}")
    return "\n".join(lines) + "\n"


def _name(package: dict) -> str:
    return re.sub(r"[-_.]+", "-", package["metadata"]["name"]).lower()


def main() -> None:
    """Ask pip what it would install, and write that down."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
    done = subprocess.run(
        [*command, "--report", "-", "-r", WANTED],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    text = locked(json.loads(done.stdout))
    (ROOT / LOCK).write_text(text, encoding="utf-8")
    print(f"{LOCK}: {text.count('--hash')} packages")


if __name__ == "__main__":
    main()
