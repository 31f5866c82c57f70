"""Commands for the box a deployment runs on; their code is in gearshift_hub, which a workspace does not have."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence

from gearshift.cli.trouble import Refused

MODULES = {
    "up": ("gearshift_hub.supervisor", "start a deployment here and keep it running"),
    "doctor": ("gearshift_hub.doctor", "say what this box can and cannot do"),
    "user": ("gearshift_hub.admin", "add, ls, reset, disable, enable, delete people; credit"),
    "ledger": ("gearshift_hub.admin", "verify: recompute the whole bill"),
    "image": (
        "gearshift_hub.images",
        "ls, lock, build, test, pin, save: the images of the catalog on this box",
    ),
    "demo": ("gearshift.demo", "the whole product in one run: start, switch, job, bill"),
}
KEEP_NOUN = ("user", "ledger")


def add(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """List them in the help; what follows the word is read by the module itself."""
    for noun, (_module, help_text) in MODULES.items():
        nouns.add_parser(noun, help=help_text, add_help=False)


def run(noun: str, rest: Sequence[str]) -> None:
    """Become the module that does it; returns only by raising."""
    module = MODULES[noun][0]
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        raise Refused(f"`gearshift {noun}` needs the hub side. Install it with: pip install 'gearshift[hub]'")
    words = [noun, *rest] if noun in KEEP_NOUN else list(rest)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", module, *words])
