"""Knows the rules of the tree: sizes, names, what lies where, and that nothing names this workplace."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
BANNED_STEMS = {"utils", "util", "helpers", "helper", "common", "misc"}
# Split, so that this file does not hold what it looks for.
HOSTS = [
    "files.python" + "hosted.org",
    "pypi" + ".org",
    "registry.npm" + "js.org",
    "registry.yarn" + "pkg.com",
    "deb.debian" + ".org",
]
PATHS = ["/work" + "/main", "/work" + "/shared", "/root" + "/.pyenv"]


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = [name for name in listed.stdout.split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def sources() -> list[Path]:
    return tracked("*.py", "*.ts", "*.tsx")


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_no_source_file_is_longer_than_400_lines() -> None:
    long = {
        str(p.relative_to(ROOT)): n
        for p in sources()
        if (n := len(p.read_text().splitlines())) > LONGEST_FILE
    }
    assert long == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in tracked("*.py", ":(exclude)*/migrations/versions/*")  # those are generated
        for node in functions(path)
        if (node.end_lineno or node.lineno) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert long == []


def test_files_are_named_after_what_they_know() -> None:
    assert [str(p) for p in sources() if p.stem.lower() in BANNED_STEMS] == []


def test_every_module_opens_with_a_sentence_that_says_what_it_knows() -> None:
    silent = [
        str(p.relative_to(ROOT))
        for p in tracked("*.py")
        if p.stat().st_size and not ast.get_docstring(ast.parse(p.read_text()))
    ]
    assert silent == []


def test_nothing_at_the_root_is_a_package_and_datasets_hold_no_python() -> None:
    assert tracked("*.py", ":(exclude)*/**") == [] or [p for p in tracked("*.py") if p.parent == ROOT] == []
    assert tracked("datasets/**/*.py", "datasets/*.py") == []


@pytest.mark.parametrize("needle", HOSTS + PATHS)
def test_no_tracked_file_names_a_registry_host_or_a_path_of_the_workplace(needle: str) -> None:
    holding = [str(p.relative_to(ROOT)) for p in tracked() if needle.encode() in p.read_bytes()]
    assert holding == []


def test_every_relative_link_in_the_docs_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)} -> {target}"
        for page in tracked("*.md")
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_direct_dependencies_are_pinned_exactly() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    lists = re.findall(r"^(?:dependencies|hub|lab|train|dev) = \[(.*?)\]$", text, flags=re.S | re.M)
    requirements = [name for some in lists for name in re.findall(r'"([^"]+)"', some)]
    assert len(requirements) > 20
    assert [name for name in requirements if "==" not in name] == []


def test_the_readmes_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = set(re.findall(r"^\s*make ([a-z-]+)", (ROOT / "README.md").read_text(), flags=re.M))
    assert {"run", "test"} <= commands
    assert [name for name in commands if not re.search(rf"^{name}:", makefile, flags=re.M)] == []
