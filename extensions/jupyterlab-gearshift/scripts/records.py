"""Writes src/api/records.ts from the records of gearshift.model; with --check it only says whether the file is fresh.

python scripts/records.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from gearshift.model.dataset import DatasetStatus
from gearshift.model.disk import Disk
from gearshift.model.image import Image
from gearshift.model.job import Job
from gearshift.model.kept_state import KeptState
from gearshift.model.ledger import Entry
from gearshift.model.machine import Machine
from gearshift.model.operation import Operation
from gearshift.model.waitlist import Wait
from gearshift.model.workspace import Workspace
from pydantic.json_schema import models_json_schema

TARGET = Path(__file__).parent.parent / "src/api/records.ts"
RECORDS = (Workspace, Machine, Image, Operation, Job, Disk, DatasetStatus, KeptState, Entry, Wait)
HEADER = "/** The records of gearshift.model as JSON. Written by scripts/records.py; do not edit. */\n"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def main() -> int:
    text = render()
    if "--check" in sys.argv[1:]:
        if TARGET.exists() and TARGET.read_text() == text:
            return 0
        print("src/api/records.ts is not fresh: run scripts/records.py", file=sys.stderr)
        return 1
    TARGET.write_text(text)
    return 0


def render() -> str:
    _, schema = models_json_schema([(record, "serialization") for record in RECORDS])
    definitions: dict[str, Any] = schema["$defs"]
    return HEADER + "".join("\n" + _definition(name, definitions[name]) for name in sorted(definitions))


def _definition(name: str, schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return f"export type {name} = {_literals(schema['enum'])};\n"
    fields = "".join(f"  {key}: {_type(value)};\n" for key, value in schema.get("properties", {}).items())
    if schema.get("additionalProperties") is True:
        fields += "  [key: string]: unknown;\n"
    return f"export interface {name} {{\n{fields}}}\n"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    if literals := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        return _literals(literals)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(option) for option in schema["anyOf"]))
    if schema.get("type") == "array":
        return _list(schema.get("items", {}))
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>"
    return PLAIN.get(str(schema.get("type")), "unknown")


def _list(items: dict[str, Any]) -> str:
    inner = _type(items)
    return f"({inner})[]" if " | " in inner else f"{inner}[]"


def _literals(values: list[Any]) -> str:
    return " | ".join(repr(str(value)) for value in values)


if __name__ == "__main__":
    sys.exit(main())
