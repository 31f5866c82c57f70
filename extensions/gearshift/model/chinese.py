"""The Chinese of what an error or a note names as its cause: short phrases, most of them written where they happen.

A cause is raised in English, since most are met by programs; a Chinese sentence that holds one says it in Chinese as well.
`tests/model/test_chinese.py` finds each cause that is written in our sources and fails when it has no line here.
"""

from __future__ import annotations

import re
from types import MappingProxyType

SPOKEN = frozenset({"cause", "problem", "kind", "step", "state", "machine"})
"""The facts of an error that are phrases of ours, and not a name that somebody chose."""

_CAUSES = (
    # kernels and their state
    ("a cell is running; its variables are left behind as chosen", "有单元正在运行，其变量按您的选择被留下"),
    ("kernel state cannot be written: {}", "无法写入内核状态：{}"),
    ("the kernel did not answer within {} s", "内核在 {} 秒内没有响应"),
    ("the kernel is not running", "内核未在运行"),
    ("the kernel died before it answered", "内核在响应之前已终止"),
    ("the kernel died and was not started again", "内核已终止，且没有重新启动"),
    ("a cell was still running after {} s", "{} 秒后仍有单元在运行"),
    ("a kernel of the language {}", "内核的语言是 {}"),
    ("nothing was saved under this operation", "此操作没有保存任何内容"),
    ("nothing of it was found", "没有找到它的任何内容"),
    ("{}: not there again within {} s", "{}：{} 秒内没有恢复"),
    # servers, hub, operations
    ("the server is gone", "服务器已不在"),
    ("the server did not answer", "服务器没有响应"),
    ("the server does not answer", "服务器没有响应"),
    ("the server answered {}", "服务器返回了 {}"),
    ("the hub answered {}", "Hub 返回了 {}"),
    ("the hub named no port", "Hub 没有给出端口"),
    ("the check failed", "检查未通过"),
    ("it took over {} s", "用时超过 {} 秒"),
    ("a fault of ours, which was logged", "我们的故障，已记录在日志中"),
    ("the old machine's server died before it had its state", "旧机器的服务器在取得状态之前已终止"),
    ("another server is running in its place", "另一个服务器正在它的位置上运行"),
    ("the fork server's child ended without an answer; see the server's log", "启动进程没有响应就结束了，见服务器日志"),
    ("no cheaper machine is left", "没有更便宜的机器"),
    ("{} would not cost less", "{} 不会更便宜"),
    ("there is none of it here", "此处没有这种机器"),
    ("tick the box first", "请先勾选"),
    ("thaw it first", "请先解冻"),
    # what was sent
    ("it holds a NUL", "其中含有 NUL"),
    ("it holds half of a character", "其中含有半个字符"),
    ("it is nested too deeply", "嵌套过深"),
    ("it is not UTF-8", "不是 UTF-8"),
    ("a number is too large or not finite", "数值过大或不是有限数"),
    ("no JSON at character {}", "第 {} 个字符处不是 JSON"),
    ("no JSON object", "不是 JSON 对象"),
    ("the body is empty", "内容为空"),
    ("not names", "不是名称"),
    ("not a number", "不是数字"),
    ("not a credit", "不是充值金额"),
    ("not a user name", "不是用户名"),
    ("not an id of ours", "不是我们的编号"),
    ("unknown", "未知"),
    ("unknown kind of plan", "未知的计划类型"),
    ("no such {}", "没有这个 {}"),
    ("no such time in UTC", "UTC 中没有这个时间"),
    ("a time needs a zone", "时间需要带时区"),
    ("too small", "太小"),
    ("one of two", "二者之一"),
    ("one of three", "三者之一"),
    ("say which", "请指明是哪一个"),
    ("say image and machine", "请指定镜像与机器"),
    ("an operation's id is needed", "需要操作的编号"),
    ("the owner always reads and writes", "所有者始终可读写"),
    ("the file system below the disks keeps no access lists", "磁盘所在的文件系统不支持访问控制列表"),
    ("{} is not an amount; write it like '0.72'", "{} 不是金额，请写成 '0.72' 的形式"),
    ("{} has more than nine decimals", "{} 的小数超过九位"),
    # jobs
    ("a job needs a spec", "任务需要 spec"),
    ("send this bundle first", "请先发送此代码包"),
    ("this is no name of a variable", "这不是变量名"),
    ("a word holds a NUL", "某个参数含有 NUL"),
    ("name a machine", "请指定机器"),
    ("the cell has no code", "单元中没有代码"),
    ("the notebook has no such variable", "笔记本中没有这个变量"),
    ("it is no text", "不是文本"),
    ('it needs script = "NAME.py"', '需要 script = "NAME.py"'),
    ("the job was not confirmed in the dialog", "任务没有在对话框中确认"),
    ("attempt {}", "第 {} 次尝试"),
    ("{}: try {} of {} begins soon", "{}：即将开始第 {} 次重试，共 {} 次"),
    ("no-capacity", "容量不足"),
    ("error", "出错"),
    ("interruption", "中断"),
    ("node {} was lost", "节点 {} 已丢失"),
    (
        "node {} used {} GB of its {} GB of memory; rank {} the most, {} GB",
        "节点 {} 使用了 {} GB 内存，而它只有 {} GB；其中 rank {} 最多，{} GB",
    ),
    ("the network of node {} was cut for {} s", "节点 {} 的网络已中断 {} 秒"),
    ("node {} ({}) did not join within {} s: rank {}: {}", "节点 {}（{}）未在 {} 秒内加入：rank {}：{}"),
    ("rank {}: the name {} of node 0 is not known (step: look-up)", "rank {}：节点 0 的名称 {} 未知（步骤：查找）"),
    ("the name {} of node 0 is not known (step: look-up)", "节点 0 的名称 {} 未知（步骤：查找）"),
    ("its process did not begin", "其进程没有开始"),
    ("rank {} was stopped and did not go on for {} s", "rank {} 被暂停，{} 秒内没有继续"),
    ("rank {} was stopped: the others waited for it", "rank {} 被暂停：其他 rank 在等它"),
    (
        "rank {} hangs: the others waited for it in a collective; where it stood is in its log",
        "rank {} 挂起：其他 rank 在集合通信中等它；它停在何处见其日志",
    ),
    ("the launcher of node {} ended", "节点 {} 的启动器已结束"),
    ("exit code {}", "退出码 {}"),
    ("killed by signal {}", "被信号 {} 终止"),
    ("The balance is used up.", "余额已用尽。"),
    ("The cap on its cost was reached.", "已达到费用上限。"),
    ("The supervisor ended with {} before its first word.", "监管进程以 {} 结束，没有任何输出。"),
    (
        "Compiling DeepSpeed's communication operator, once for this environment: about a minute.",
        "正在编译 DeepSpeed 的通信算子，此环境只需一次，约一分钟。",
    ),
    ("DeepSpeed's operator did not compile (exit {}); see {}", "DeepSpeed 的算子未能编译（退出码 {}），见 {}"),
    ("DeepSpeed needs {} on this box to compile its operator", "DeepSpeed 需要本机上有 {} 才能编译算子"),
    ("shutdown", "停机"),
    ("deleted", "账户删除"),
    ("the end of its kernel", "内核的结束"),
    # data sets
    ("unknown maker {}", "未知的生成方式 {}"),
    ("{} is not installed", "{} 没有安装"),
    ("{} is not on the card", "{} 不在数据卡片上"),
    ("{} missing from {}", "{1} 中缺少 {0}"),
    ("{} has sha256 {}, not {}", "{} 的 sha256 是 {}，而不是 {}"),
    ("it is {}", "它的状态是 {}"),
)  # fmt: skip

_SYSTEM = (
    ("No space left on device", "设备上没有剩余空间"),
    ("Disk quota exceeded", "超出磁盘配额"),
    ("Read-only file system", "文件系统只读"),
    ("Permission denied", "权限不足"),
    ("Operation not permitted", "不允许此操作"),
    ("No such file or directory", "没有这个文件或文件夹"),
    ("File exists", "文件已存在"),
    ("Is a directory", "是一个文件夹"),
    ("Not a directory", "不是文件夹"),
    ("Input/output error", "输入输出错误"),
    ("Too many open files", "打开的文件过多"),
    ("File name too long", "文件名过长"),
    ("Cannot allocate memory", "无法分配内存"),
    ("Device or resource busy", "设备或资源正忙"),
    ("Invalid argument", "参数无效"),
    ("Connection refused", "连接被拒绝"),
)
_CHECKS = (
    ("Field required", "缺少此项"),
    ("Extra inputs are not permitted", "没有这一项"),
    ("Input should be a valid string", "应为文本"),
    ("Input should be a valid integer{}", "应为整数"),
    ("Input should be a valid number{}", "应为数字"),
    ("Input should be a valid boolean{}", "应为 true 或 false"),
    ("Input should be a valid list", "应为列表"),
    ("Input should be a valid tuple", "应为列表"),
    ("Input should be a valid dictionary{}", "应为对象"),
    ("Input should be a valid datetime{}", "应为时间"),
    ("Input should be greater than or equal to {}", "应不小于 {}"),
    ("Input should be greater than {}", "应大于 {}"),
    ("Input should be less than or equal to {}", "应不大于 {}"),
    ("Input should be less than {}", "应小于 {}"),
    ("Input should be a finite number", "应为有限数"),
    ("Input should be {}", "应为 {}"),
    ("String should have at least {} character", "至少 {} 个字符"),
    ("String should have at least {} characters", "至少 {} 个字符"),
    ("String should have at most {} characters", "最多 {} 个字符"),
    ("String should match pattern {}", "应符合格式 {}"),
    ("JSON decode error", "不是 JSON"),
)
_LINE = (
    ("argument {}: invalid int value: {}", "参数 {}：{} 不是整数"),
    ("argument {}: invalid choice: {} (choose from {})", "参数 {}：没有 {} 这个选项（可选：{}）"),
    ("argument {}: expected one argument", "参数 {}：需要一个值"),
    ("argument {}: expected at least one argument", "参数 {}：至少需要一个值"),
    ("argument {}: {}", "参数 {}：{}"),
    ("the following arguments are required: {}", "缺少参数：{}"),
    ("unrecognized arguments: {}", "不认识的参数：{}"),
    ("No closing quotation", "引号没有闭合"),
    ("No escaped character", "反斜杠之后没有字符"),
)
"""What argparse and shlex say of a line."""
_WORDS = (
    ("this machine", "此机器"),
    ("of this deployment", "（本部署）"),
    ("stopped", "已停止"),
    ("starting", "正在启动"),
    ("ready", "就绪"),
    ("running", "运行中"),
    ("switching", "正在切换"),
    ("stopping", "正在停止"),
    ("stopping_unconfirmed", "停止未确认"),
    ("needs_attention", "需要处理"),
    ("queued", "排队中"),
    ("cancelling", "正在取消"),
    ("succeeded", "已完成"),
    ("failed", "已失败"),
    ("cancelled", "已取消"),
    ("preparing", "准备中"),
    ("start", "启动"),
    ("stop", "停止"),
    ("switch", "切换"),
    ("resize", "调整"),
    ("snapshot", "快照"),
    ("restore", "恢复"),
    ("delete_workspace", "删除工作区"),
    ("cancel_job", "取消任务"),
    ("delete_disk", "删除磁盘"),
    ("remove_member", "移除成员"),
    ("admit", "准入"),
    ("lease", "预留"),
    ("launch", "启动进程"),
    ("meter", "计费"),
    ("reserve", "预留"),
    ("save", "保存"),
    ("verify", "检查"),
    ("release", "释放"),
    ("close", "结算"),
)

_ALL = (*_CAUSES, *_SYSTEM, *_CHECKS, *_LINE, *_WORDS)
_EXACT = MappingProxyType({english: chinese for english, chinese in _ALL if "{}" not in english})
_SHAPES = tuple(
    (re.compile("(.*?)".join(re.escape(part) for part in english.split("{}")), re.DOTALL), chinese)
    for english, chinese in _ALL
    if "{}" in english
)
_ERRNO = re.compile(r"\[Errno \d+\] ([^:]+)(.*)", re.DOTALL)


def has(phrase: str) -> bool:
    """Whether this phrase (with `{}` for what is filled in) has a line."""
    return any(phrase == english for english, _ in _ALL)


def in_chinese(phrase: str) -> str:
    """The phrase in Chinese; what is not ours, such as the words of a library, stays as it is."""
    if phrase in _EXACT:
        return _EXACT[phrase]
    for shape, chinese in _SHAPES:
        if found := shape.fullmatch(phrase):
            return chinese.format(*(in_chinese(part) for part in found.groups()))
    if found := _ERRNO.fullmatch(phrase):
        return f"{in_chinese(found[1])}{found[2]}"
    where, colon, rest = phrase.rpartition(": ")
    return f"{where}：{in_chinese(rest)}" if colon else phrase
