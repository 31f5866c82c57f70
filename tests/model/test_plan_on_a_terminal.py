"""What a terminal shows of a switch before the yes: seconds and where they come from, and each loss with its way back."""

from __future__ import annotations

from gearshift.cli.confirming import figures


def shown(**more: object) -> str:
    variables = [
        {"name": "x", "type": "int", "verdict": "copy"},
        {"name": "conn", "type": "Connection", "verdict": "cannot_move", "way_back": "run cell [2] again"},
    ]
    plan = {
        "workspace": "mei/a", "price_before_nano": 10**8, "price_after_nano": 10**9, "mode": "restart",
        "rollback": "frozen", "seconds": 3.64, "learned_from": 4, "fits": {"ok": True},
        "kernels": [{"path": "a.ipynb", "variables": variables}], **more,
    }  # fmt: skip
    return "\n".join(figures({"kind": "switch", "figures": plan}, "¥"))


def test_seconds_say_whether_they_are_measured() -> None:
    assert "takes    about 3.6 s, as the last 4 measured\n" in shown()
    assert "takes    about 3.6 s, a first guess\n" in shown(learned_from=0)
    assert "does not fit there" in shown(fits={"ok": False})
    assert "about 3.6 s" in shown(fits=None, mode="live", rollback="live")


def test_what_does_not_move_has_its_way_back() -> None:
    assert "not moved conn (Connection): run cell [2] again" in shown()
    assert "not moved x" not in shown()
