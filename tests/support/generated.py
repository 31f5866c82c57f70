"""Knows what is generated from code: reference pages, the card schema, the TypeScript records.

`python tests/support/generated.py` rewrites them, `--check` names those that are stale and exits with 1.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
NOTE = "<!-- Generated from code by `make generated`; edit the code. -->\n\n"


def errors_page() -> str:
    from gearshift.model.error_table import ERRORS

    lines = ["# Errors", "", "Every answer that is not a success carries one of these codes.", ""]
    lines += ["| code | HTTP | English | 简体中文 |", "|---|---|---|---|"]
    lines += [
        f"| `{code}` | {kind.status} | {cell(kind.en)} | {cell(kind.zh)} |"
        for code, kind in sorted(ERRORS.items())
    ]
    return "\n".join(lines) + "\n"


def scopes_page() -> str:
    from gearshift_hub.scopes import SCOPES

    lines = [
        "# Scopes",
        "",
        "What a token may do, on top of JupyterHub's own scopes.",
        "",
        "| scope | lets its holder |",
        "|---|---|",
    ]
    return "\n".join([*lines, *(f"| `{scope}` | {sentence} |" for scope, sentence in SCOPES.items())]) + "\n"


def deployment_page() -> str:
    default = (ROOT / "hub_config/gearshift.toml").read_text()
    lines = [
        "# The deployment file",
        "",
        "The default, with what each key means. An unknown key is refused with its path;",
    ]
    lines += [
        "all problems of a file are listed at once. `gearshift up --deployment FILE` takes another one.",
        "",
    ]
    return "\n".join([*lines, "```toml", default.rstrip(), "```"]) + "\n"


def rest_page() -> str:
    from gearshift_testing.routes import public_routes

    lines = [
        "# REST",
        "",
        "Below `/services/gearshift/api/v1`. The caller sends `Authorization: token …`.",
        "",
    ]
    lines += ["| method | path | who | does |", "|---|---|---|---|"]
    lines += [f"| {r.method} | `{r.path}` | {r.may} | {cell(r.does)} |" for r in public_routes()]
    return "\n".join(lines) + "\n"


def cli_page() -> str:
    from gearshift.cli.main import parser

    lines = ["# The command line", ""]
    for name, command in subcommands(parser(), "gearshift"):
        lines += [f"## `{name}`", "", "```", command.format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def failures_page() -> str:
    from gearshift.diagnosis import patterns

    seen = {log.stem for log in (ROOT / "tests/train/logs").glob("*.log")}
    lines = [
        "# Failures that are recognised",
        "",
        "What a job's widget says when a rank failed with these words; *provoked* ones were made to happen on a CPU box",
        "(`tests/train/provoke.py`), *reported* ones are told from public reports. Everything else stays unknown.",
        "",
        "| failure | evidence | cause | what helps |",
        "|---|---|---|---|",
    ]
    for known in sorted((pattern.diagnosis for pattern in patterns()), key=lambda known: known.id):
        evidence = "provoked" if known.id in seen else "reported"
        lines.append(f"| `{known.id}` | {evidence} | {cell(known.cause.en)} | {cell(known.remedy.en)} |")
    return "\n".join(lines) + "\n"


def subcommands(parser: Any, name: str) -> Iterator[tuple[str, Any]]:
    parser.prog = name
    yield name, parser
    for action in parser._actions:
        if hasattr(action, "choices") and isinstance(action.choices, dict):
            for child, sub in action.choices.items():
                yield from subcommands(sub, f"{name} {child}")


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


PAGES: dict[Path, Callable[[], str]] = {
    REFERENCE / "errors.md": errors_page,
    REFERENCE / "scopes.md": scopes_page,
    REFERENCE / "deployment.md": deployment_page,
    REFERENCE / "rest.md": rest_page,
    REFERENCE / "cli.md": cli_page,
    REFERENCE / "failures.md": failures_page,
}
WRITERS = [["extensions/jupyterlab-gearshift/scripts/records.py"]]
"""Scripts that write files of their own and take `--check`."""


def main(check: bool) -> int:
    stale = []
    for path, make in PAGES.items():
        content = NOTE + make()
        if check and (not path.exists() or path.read_text() != content):
            stale.append(str(path.relative_to(ROOT)))
        elif not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    for writer in WRITERS:
        command = [sys.executable, *writer, *(["--check"] if check else [])]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            stale.append(writer[0])
    if stale:
        print(f"stale (run `make generated`): {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests/support"))
    sys.exit(main("--check" in sys.argv[1:]))
