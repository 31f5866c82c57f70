"""Every text that a cell of ours prints, in both languages: looked up by key, filled with facts."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from gearshift.language import language
from gearshift.model.record import Text

PHRASES = MappingProxyType(
    {
        # states of a job, and why it ended
        "state.queued": ("Queued", "排队中"),
        "state.starting": ("Starting", "正在启动"),
        "state.running": ("Running", "运行中"),
        "state.cancelling": ("Cancelling", "正在取消"),
        "state.succeeded": ("Finished", "已完成"),
        "state.failed": ("Failed", "已失败"),
        "state.cancelled": ("Cancelled", "已取消"),
        "reason.user_error": ("A fault in the code, so it was not retried.", "代码有错误，因此没有重试。"),
        "reason.oom": ("Out of memory.", "内存不足。"),
        "reason.deadline": ("Its deadline passed.", "已超过期限。"),
        "reason.budget": (
            "Its cap on cost or the balance was used up.",
            "费用上限或余额已用尽。",
        ),
        "reason.lost": ("Its supervisor was lost.", "监管进程已丢失。"),
        "reason.node_lost": ("A node was lost.", "有一个节点已丢失。"),
        "reason.no_answer": ("A rank or the network did not answer.", "有 rank 或网络没有响应。"),
        "reason.interrupted": ("Its machine was taken away.", "它的机器被收回。"),
        "reason.did_not_join": ("Not all ranks started in time.", "并非所有 rank 都及时启动。"),
        "reason.start_failed": ("It did not start. Not charged.", "没有启动成功，不收费。"),
        # one job
        "queued": (
            "Queued at position {position}: needs {needs}, {free} free",
            "排在第 {position} 位：需要 {needs}，空闲 {free}",
        ),
        "queued.after": (", after {after}", "，在 {after} 之后"),
        "queued.about": (", in about {t}", "，约 {t} 后"),
        "queued.person": ("; your limit of {limit} {unit} is used up", "；您的 {limit} {unit}限额已用完"),
        "queued.team": (
            "; your team's limit of {limit} {unit} is used up",
            "；团队的 {limit} {unit}限额已用完",
        ),
        "queued.chips": ("chips", "张芯片"),
        "queued.nodes": ("nodes", "个节点"),
        "cancelled": ("Cancelled by {by}{at_step}.", "由{by}取消{at_step}。"),
        "cancelled.at_step": (" at step {step}", "，在第 {step} 步"),
        "by.owner": ("its owner", "所有者"),
        "first.how": (
            "Rank {rank} on node {node} failed first, {how}{cause}",
            "节点 {node} 的 rank {rank} 最先失败，{how}{cause}",
        ),
        "first.said": ("Rank {rank} on node {node}: {message}", "节点 {node} 的 rank {rank}：{message}"),
        "first.signal": ("signal {number}", "信号 {number}"),
        "first.exit": ("exit code {number}", "退出码 {number}"),
        "first.cause": (": {message}", "：{message}"),
        "job": ("job", "任务"),
        "fact.state": ("state", "状态"),
        "fact.shape": ("shape", "规模"),
        "fact.cost": ("cost", "费用"),
        "fact.ran": ("ran", "运行"),
        "fact.step": ("step", "步"),
        "fact.uses": ("uses", "占用"),
        "fact.note": ("note", "备注"),
        "fact.cause": ("cause", "原因"),
        "fact.helps": ("helps", "建议"),
        "fact.kept": ("kept", "保留至"),
        "use.memory": ("{used} of {has} memory", "内存 {used}，共 {has}"),
        "use.cores": (", {used} of {has} cores", "；处理器 {used} 核，共 {has} 核"),
        "shape": ("{nodes} × {procs} on {machine}", "{machine} 上 {nodes} × {procs}"),
        "cost": ("{cost} at {price}/h", "{cost}，每小时 {price}"),
        # plans
        "plan.job": ("job", "任务"),
        "plan.switch": ("switch", "切换"),
        "plan.cancel_job": ("cancel job", "取消任务"),
        "plan.price": ("  price  {price}/h", "  价格  每小时 {price}"),
        "plan.most": ("  most   {most}", "  最多  {most}"),
        "plan.place": (
            "  place  {position} in line: needs {needs}, {free} free",
            "  排队  第 {position} 位：需要 {needs}，空闲 {free}",
        ),
        "plan.confirm": ("Confirm it in the dialog.", "请在对话框中确认。"),
        "plan.done": ("{command}: {id} {state}", "{command}：{id} {state}"),
        # durations
        "seconds": ("{s} s", "{s} 秒"),
        "minutes": ("{min} min {s} s", "{min} 分 {s} 秒"),
        "hours": ("{h} h {min} min", "{h} 小时 {min} 分"),
        # reports
        "workspace": ("workspace", "工作区"),
        "machine": ("machine", "机器"),
        "machine.price": ("{machine}, {price}/h", "{machine}，每小时 {price}"),
        "balance": ("balance", "余额"),
        "today": ("today", "今日"),
        "disk": ("disk", "磁盘"),
        "mode": ("mode", "权限"),
        "used": ("used", "已用"),
        "size": ("size", "大小"),
        "path": ("path", "路径"),
        "data set": ("data set", "数据集"),
        "licence": ("licence", "许可"),
        "title": ("title", "标题"),
        "state": ("state", "状态"),
        "detached": ("{name}: detached", "{name}：已卸载"),
        "mounted": (
            "{name}: {path}  read-only, {size}, licence {licence}, no traffic fee",
            "{name}：{path}  只读，{size}，许可 {licence}，无流量费",
        ),
        "no jobs": (
            "No jobs yet. Start one from a cell: %%gearshift --nodes 2",
            "还没有任务。在单元中启动：%%gearshift --nodes 2",
        ),
        "no log": ("rank {rank} has printed nothing", "rank {rank} 没有任何输出"),
        "not confirmed": ("the job was not confirmed in the dialog", "任务没有在对话框中确认"),
        "goes on": (
            "job {id} is {state} after {seconds:g} s; it goes on",
            "{seconds:g} 秒后任务 {id} 的状态是{state}，它会继续运行",
        ),
        "unconfirmed": ("<job, not confirmed yet>", "<任务，尚未确认>"),
        "a job": ("<job {id}>", "<任务 {id}>"),
        "needs a notebook": (
            "this needs a notebook; from a terminal: gearshift job run SCRIPT",
            "这需要笔记本；在终端请用：gearshift job run SCRIPT",
        ),
        "no variable": ("--out: {name!r} is no name of a variable", "--out：{name!r} 不是变量名"),
        # what is wrong with a line
        "no money": (
            "{text!r} is no amount of money, such as 2.50",
            "{text!r} 不是金额，例如 2.50",
        ),
        "no duration": (
            "{text!r} is no duration, such as 90, 30min or 2h",
            "{text!r} 不是时长，例如 90、30min 或 2h",
        ),
        "no pair": ("{text!r} is no NAME=VALUE", "{text!r} 不是 NAME=VALUE"),
        "no retry": (
            "{text!r} is no WORD=N; words: {words}",
            "{text!r} 不是 WORD=N；可用的词：{words}",
        ),
        "bad line": ("{problem} in {line!r}", "{line!r} 中：{problem}"),
        "usage": ("see the usage", "请看用法"),
        # help
        "help.status": ("workspace, machine, price, balance", "工作区、机器、价格、余额"),
        "help.help": ("this list", "本列表"),
        "help.mount": (
            "attach data sets or models; read-only, no traffic fee",
            "挂载数据集或模型；只读，无流量费",
        ),
        "help.unmount": ("detach", "卸载"),
        "help.disks": ("your disks", "您的磁盘"),
        "help.datasets": ("what can be mounted", "可以挂载的内容"),
        "help.switch": ("propose another machine", "提议换一台机器"),
        "help.jobs": ("your jobs", "您的任务"),
        "help.logs": ("the log of a rank", "某个 rank 的日志"),
        "help.cancel": ("end a job", "结束任务"),
        "help.show": ("a job's live view", "任务的实时视图"),
        "help.result": ("what rank 0 handed back", "rank 0 交回的结果"),
        "help.cost": ("what today has cost", "今日费用"),
        "help.nodes": ("nodes of the gang", "节点数"),
        "help.procs": ("processes a node", "每个节点的进程数"),
        "help.machine": (
            "machine of each node; default: this workspace's",
            "每个节点的机器；默认为此工作区的",
        ),
        "help.image": ("default: this workspace's", "默认为此工作区的"),
        "help.name": ("shown in lists; default: the cell's number", "列表中显示的名称；默认为单元编号"),
        "help.send": ("values over 1 MiB that go along", "一并发送的、超过 1 MiB 的值"),
        "help.expect": ("how long it will run; those in line are told", "预计运行时长；会告知排队的人"),
        "help.priority": ("-10 to 10; above 0 only where the site allows it", "-10 到 10；高于 0 需站点允许"),
        "help.max_restarts": ("the same as --retry error=N", "同 --retry error=N"),
        "help.retry": (
            "try again N times after error, interruption or no-capacity",
            "在 error、interruption 或 no-capacity 之后重试 N 次",
        ),
        "help.grace": ("from TERM to KILL", "从 TERM 到 KILL"),
        "help.out": ("the variable that holds the job", "保存任务的变量"),
        "help.attach": (
            "wait, and end the job when this cell is interrupted or its kernel goes",
            "等待；此单元被中断或内核结束时，任务随之结束",
        ),
        "help.wait": ("wait for the end; a failure is an error here", "等待结束；失败时在此报错"),
        "help.max_price": ("cap on the price per hour, with a spend token", "每小时价格的上限，需消费令牌"),
        "help.max_cost": ("cap on the cost, with a spend token", "费用的上限，需消费令牌"),
    }
)


def say(key: str, **facts: Any) -> str:
    """The phrase in the language of whoever runs the cell."""
    english, chinese = PHRASES[key]
    return (chinese if language() == "zh" else english).format(**facts)


def known(key: str) -> bool:
    return key in PHRASES


def pick(english: str, chinese: str | None) -> str:
    """Of a sentence that came in both languages."""
    return chinese if chinese and language() == "zh" else english


def text(both: Any) -> str:
    """Of a title or sentence that a record keeps in both languages."""
    return Text.model_validate(both).pick(language())
