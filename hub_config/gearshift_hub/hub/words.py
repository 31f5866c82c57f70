"""The words of the hub's own pages in both languages, and which language and theme a browser wants."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Literal

Language = Literal["en", "zh-CN"]

LANGUAGE_COOKIE = "gearshift-language"
THEME_COOKIE = "gearshift-theme"

WORDS = MappingProxyType(
    {
        "sign_in": ("Sign in", "登录"),
        "sign_out": ("Sign out", "退出"),
        "name": ("Name", "用户名"),
        "password": ("Password", "密码"),
        "first_time": ("First time here? Use your one-time code", "首次使用？请输入一次性代码"),
        "activate": ("Set your password", "设置密码"),
        "activate_lead": (
            "Your admin gave you a one-time code. It is used once, here.",
            "管理员给了您一个一次性代码。仅在此处使用一次。",
        ),
        "code": ("One-time code", "一次性代码"),
        "new_password": ("New password", "新密码"),
        "repeat": ("New password again", "再次输入新密码"),
        "set_and_sign_in": ("Set password and sign in", "设置密码并登录"),
        "unequal": ("The two passwords differ.", "两次输入的密码不一致。"),
        "back_to_sign_in": ("Back to sign in", "返回登录"),
        "expired": (
            "This form was open too long. It has been renewed: send it again.",
            "表单打开时间过长，已更新，请重新提交。",
        ),
        "not_running_title": ("This workspace is not running", "此工作区未在运行"),
        "not_running_lead": ("Your files are safe. Nothing is charged.", "您的文件安全保存，不产生费用。"),
        "to_workspaces": ("To your workspaces", "前往工作区"),
        "away_title": ("Back in a moment", "马上恢复"),
        "away_reloads": ("This page asks again by itself.", "本页会自动重试。"),
        "away_not_done": (
            "What you sent was not carried out. Send it again in a moment.",
            "您提交的内容未被执行。请稍后重试。",
        ),
        "error": ("This did not work", "操作未成功"),
        "no_page": ("There is no such page.", "没有此页面。"),
        "skip": ("To the content", "跳到内容"),
    }
)


def words(language: Language) -> dict[str, str]:
    column = 1 if language == "zh-CN" else 0
    return {key: pair[column] for key, pair in WORDS.items()}


def pick_language(cookie: str | None, accepted: str, default: str) -> Language:
    """What the person chose, else what the browser asks for, else the site's."""
    if cookie in ("en", "zh-CN"):
        return "zh-CN" if cookie == "zh-CN" else "en"
    for wish in accepted.lower().split(","):
        tag = wish.split(";")[0].strip()
        if tag.startswith("zh"):
            return "zh-CN"
        if tag.startswith("en"):
            return "en"
    return "zh-CN" if default.startswith("zh") else "en"


def pick_theme(cookie: str | None) -> str:
    """`light`, `dark`, or `auto` for what the system says."""
    return cookie if cookie in ("light", "dark") else "auto"


def message(error: Any, language: Language) -> str:
    """The sentence of one of our errors in this language."""
    return str(error.message_zh if language == "zh-CN" else error.message)
