"""Prints the bill of materials of PruneScope itself (CycloneDX 1.6): what `requirements.lock` installs, with digests.

`make sbom` writes `sbom.json`; auditors and scanners read it.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from engine import __version__

TOP = Path(__file__).resolve().parents[1]
PACKAGE = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", re.IGNORECASE)
DIGEST = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def locked(text: str) -> dict[str, tuple[str, list[str]]]:
    """Version and digests of every package of a lock file, by its name."""
    found: dict[str, tuple[str, list[str]]] = {}
    name = ""
    for line in text.splitlines():
        if package := PACKAGE.match(line):
            name = package[1]
            found[name] = (package[2], [])
        if digest := DIGEST.search(line):
            found[name][1].append(digest[1])
    return found


def bill(lock: str, product_version: str) -> dict[str, Any]:
    """The product, and one component for every package that is installed with it."""
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": f"pkg:pypi/{name}@{version}",
                    "hashes": [{"alg": "SHA-256", "content": digest} for digest in digests],
                }
            ],
        }
        for name, (version, digests) in locked(lock).items()
    ]
    product = {"type": "application", "bom-ref": "prunescope", "name": "prunescope", "version": product_version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": product},
        "components": components,
        "dependencies": [{"ref": "prunescope", "dependsOn": [component["bom-ref"] for component in components]}],
    }


def main() -> None:
    """Print it."""
    json.dump(bill((TOP / "requirements.lock").read_text(encoding="utf-8"), __version__), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
