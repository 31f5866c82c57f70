"""The list of parts of a container image (SPDX 2.3): every package of Python and of Debian that is really in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from gearshift_hub.images import locks

PYTHON_PARTS = (
    "from importlib.metadata import distributions\n"
    "for one in distributions(): print(one.metadata['Name'] + '==' + one.version)"
)
"""Run under the image's own Python."""


def document(name: str, python: Mapping[str, str], debian: Mapping[str, str]) -> dict[str, Any]:
    """The document whole."""
    parts = [
        *(_part("pypi", one, version) for one, version in sorted(python.items())),
        *(_part("deb/debian", one, version) for one, version in sorted(debian.items())),
    ]
    image = {
        "SPDXID": "SPDXRef-image",
        "name": name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
    }
    contains = [
        {
            "spdxElementId": "SPDXRef-image",
            "relationshipType": "CONTAINS",
            "relatedSpdxElement": part["SPDXID"],
        }
        for part in parts
    ]
    describes = {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES"}
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"urn:uuid:{uuid4()}",
        "creationInfo": {
            "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: gearshift image build"],
        },
        "packages": [image, *parts],
        "relationships": [{**describes, "relatedSpdxElement": "SPDXRef-image"}, *contains],
    }


def digest(file: Path) -> str:
    return locks.digest_of(file.read_text("utf-8"))


def _part(kind: str, name: str, version: str) -> dict[str, Any]:
    plain = re.sub(r"[-_.]+", "-", name).lower() if kind == "pypi" else name
    return {
        "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', f'{kind}-{plain}')}",
        "name": plain,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:{kind}/{plain}@{quote(version, safe='')}",
            }
        ],
    }
