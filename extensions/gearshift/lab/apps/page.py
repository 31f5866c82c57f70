"""The page that stands in for an app which does not answer: what is the matter, its last lines, the way on."""

from __future__ import annotations

from html import escape

from gearshift.lab.apps.process import AppProcess, AppState
from gearshift.model.app import APP_PATH

WORDS = {
    "en": {
        AppState.STARTING: "{title} is starting",
        AppState.ENDED: "{title} has ended",
        AppState.FOREIGN: "{title} was not reached",
        "wait": "This page opens it as soon as it answers.",
        "code": "It ended with status {code}. These are its last lines.",
        "taken": "Another person's process listens on its port. Stop the workspace and start it again.",
        "silent": "It said nothing.",
        "again": "Start it again",
        "lab": "Open JupyterLab",
    },
    "zh": {
        AppState.STARTING: "{title} 正在启动",
        AppState.ENDED: "{title} 已结束",
        AppState.FOREIGN: "无法连接 {title}",
        "wait": "应用就绪后，本页会自动打开它。",
        "code": "退出码 {code}。以下是它最后输出的内容。",
        "taken": "其端口被他人的进程占用。请停止工作区后重新启动。",
        "silent": "它没有输出任何内容。",
        "again": "重新启动应用",
        "lab": "打开 JupyterLab",
    },
}
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}"
    "pre{border:1px solid #8888;border-radius:6px;padding:1rem;overflow:auto;font-size:13px}"
    "button{font:inherit;padding:.4rem 1rem}form{display:inline-block;margin-right:1rem}"
)


def page(process: AppProcess, language: str, hidden: str, base_url: str) -> str:
    """HTML; a page of an app that is starting asks again each second."""
    words, state = WORDS[language], process.state
    title = escape(words[state].format(title=process.app.title.pick("zh" if language == "zh" else "en")))
    again = '<meta http-equiv="refresh" content="1">' if state is AppState.STARTING else ""
    lines = escape("\n".join(process.last_lines())) or escape(words["silent"])
    start = (
        f'<form method="post" action="{escape(base_url)}gearshift/{APP_PATH}/start">{hidden}'
        f"<button>{words['again']}</button></form>"
    )
    return (
        f'<!doctype html><html lang="{"zh-CN" if language == "zh" else "en"}"><head><meta charset="utf-8">{again}'
        f"<title>{title}</title><style>{STYLE}</style></head><body><main><h1>{title}</h1>"
        f'<p role="status">{escape(_sentence(process, words))}</p><pre tabindex="0">{lines}</pre>'
        f"{start if state is AppState.ENDED else ''}"
        f'<a href="{escape(base_url)}lab">{words["lab"]}</a></main></body></html>'
    )


def _sentence(process: AppProcess, words: dict[str, str]) -> str:
    if process.state is AppState.ENDED:
        return words["code"].format(code=process.exit_code)
    return words["taken" if process.state is AppState.FOREIGN else "wait"]
