"""Why something cannot travel: the table of codes with their sentences, and which code a given object has."""

from __future__ import annotations

import io
import types
from collections.abc import Mapping, Sequence

from gearshift.state.kinds import bases_of, path_of

_BOUND: Mapping[str, tuple[str, str]] = {
    "generator": (
        "a generator stopped in mid-run; its position lives in this process only",
        "运行到一半的生成器，其位置只存在于当前进程",
    ),
    "coroutine": ("a coroutine or task of this process's event loop", "属于当前进程事件循环的协程或任务"),
    "lock": ("a lock is held or awaited by threads of this process only", "锁只对当前进程的线程有意义"),
    "thread": ("a thread runs in this process only", "线程只在当前进程中运行"),
    "process": ("a child process belongs to this machine", "子进程属于当前机器"),
    "pool": ("a pool of workers belongs to this process", "工作池属于当前进程"),
    "socket": ("an open network connection ends with this process", "打开的网络连接随当前进程结束"),
    "connection": ("an open database connection with its locks", "打开的数据库连接及其锁"),
    "weakref": ("a weak reference points at an address of this process", "弱引用指向当前进程中的地址"),
    "mmap": ("a memory map of this process", "当前进程的内存映射"),
    "file_writing": (
        "a file open for writing; what was written is in the file",
        "为写入而打开的文件；已写内容都在文件中",
    ),
    "file_closed": ("a closed file", "已关闭的文件"),
    "file_position": (
        "a file whose position cannot be read while it is iterated",
        "遍历中的文件，无法读取其位置",
    ),
    "file_gone": ("the file {path} is no longer there", "文件 {path} 已不存在"),
    "file_unnamed": ("a file without a path", "没有路径的文件"),
    "widget": ("a widget is tied to the page and to this kernel", "控件与页面及当前内核绑定"),
    "loader_iterator": (
        "an iterator of a DataLoader in mid-epoch; the loader itself travels",
        "DataLoader 在一个周期中途的迭代器；加载器本身可以迁移",
    ),
    "frame": ("a frame or traceback of this process", "当前进程的栈帧或回溯"),
    "left_out": ("left out as asked", "按要求不迁移"),
}
"""Bound to the process: no copy of these can mean the same thing elsewhere."""

_UNWRITABLE: Mapping[str, tuple[str, str]] = {
    "no_pickle": ("objects of type {culprit} cannot be written", "无法写出 {culprit} 类型的对象"),
    "refuses": ("its own code for saving raises {error}", "它自己的保存代码引发了 {error}"),
    "name_only": (
        "it is written as the name {culprit} of this notebook only, which the new kernel does not know",
        "它只能以本笔记本中的名称 {culprit} 写出，新内核不认识该名称",
    ),
    "too_deep": ("it is nested too deeply", "嵌套过深"),
    "too_slow": (
        "its own code was stopped after {seconds} s; it may hang",
        "它自己的代码运行 {seconds} 秒后被停止；可能已卡住",
    ),
    "no_memory": ("there is not enough memory to write it", "内存不足，无法写出"),
    "depends": ("it needs {culprit}, which cannot travel", "它依赖无法迁移的 {culprit}"),
}
"""Found while writing; a cell that is known may make them again."""

_FOUND_ON_LOAD: Mapping[str, tuple[str, str]] = {
    "load_raises": ("its own code for loading raises {error}", "它自己的加载代码引发了 {error}"),
    "missing_module": ("{error} on this machine", "当前机器上：{error}"),
    "other_python": (
        "compiled code of Python {old} cannot run on Python {new}",
        "Python {old} 的已编译代码无法在 Python {new} 上运行",
    ),
    "other_version": (
        "it was written by {package} {old}; this machine has {new}, whose compiled objects are others",
        "它由 {package} {old} 写出；当前机器为 {new}，其编译对象不同",
    ),
    "changed": (
        "it arrived, but is not equal to what was saved; check it before use",
        "已到达，但与保存时不相等；使用前请检查",
    ),
}

_NOTES: Mapping[str, tuple[str, str]] = {
    "grad_fn": (
        "the value travels; how it was computed (grad_fn) does not, so it no longer requires a gradient",
        "数值会迁移，但其计算过程（grad_fn）不会，因此不再需要梯度",
    ),
    "from_source": (
        "made again from the source in cell [{cell}], since compiled code of Python {old} cannot run on Python {new}",
        "已用单元 [{cell}] 中的源代码重新生成，因为 Python {old} 的已编译代码无法在 Python {new} 上运行",
    ),
    "hooks": ("hooks on its tensors stay behind", "张量上的钩子不会迁移"),
    "loader_resumes": (
        "it was in mid-epoch; the next iter() of it goes on with the next batch",
        "迁移时处于一个周期的中途；下一次 iter() 会从下一批数据继续",
    ),
    "cache_empty": ("its cache starts empty", "其缓存从空开始"),
    "same_object": ("the same object as {other}", "与 {other} 是同一对象"),
    "on_cpu": ("left on the CPU: this machine has no {device}", "留在 CPU 上：当前机器没有 {device}"),
    "on_other": (
        "placed on {new}: this machine has no {device}",
        "放在 {new} 上：当前机器没有 {device}",
    ),
    "chip_refuses": (
        "left on the CPU: {device} did not take it ({error})",
        "留在 CPU 上：{device} 未能接收（{error}）",
    ),
    "goes_home": (
        "waits on the CPU for a machine that has {device}, and goes back there",
        "暂留在 CPU 上；当有 {device} 的机器可用时会放回去",
    ),
    "link_lost": ("no longer linked to {other}", "与 {other} 的关联已断开"),
    "module_missing": ("{name} could not be imported: {error}", "无法导入 {name}：{error}"),
    "no_folder": ("the working folder {path} is not there", "工作目录 {path} 不存在"),
    "setting_lost": ("{name} could not be set: {error}", "无法设置 {name}：{error}"),
    "threads_differ": (
        "torch used {old} threads and now uses {new}; results can differ in the last bits",
        "torch 之前使用 {old} 个线程，现在使用 {new} 个；结果的末位可能不同",
    ),
}

_RERUN: Mapping[str, tuple[str, str]] = {
    "may_repeat": (
        "cell [{cell}] reaches outside the kernel ({what}); running it again may do that again",
        "单元 [{cell}] 会影响内核之外（{what}）；重新运行可能会重复该操作",
    ),
    "awaits": (
        "cell [{cell}] awaits at top level, so only you can run it again",
        "单元 [{cell}] 在顶层使用 await，只能由您重新运行",
    ),
    "rerun_failed": ("running cell [{cell}] again raised {error}", "重新运行单元 [{cell}] 时引发了 {error}"),
    "rerun_too_slow": (
        "cell [{cell}] was stopped after {seconds} s when it was run again",
        "重新运行单元 [{cell}] 时，{seconds} 秒后被停止",
    ),
    "rerun_unknown": ("no cell is known that makes it", "没有已知的单元能重建它"),
    "rerun_without": ("the cells ran again, but did not make it", "单元已重新运行，但没有生成它"),
    "rerun_changed": (
        "running cells again changed it in place, or something did that it shares",
        "重新运行单元时，它或它共享的对象被就地更改",
    ),
}
"""About running cells again, in a plan and after it."""

CAUTIONS = frozenset({"may_repeat", "awaits"})
"""What a person should know before they agree."""

SENTENCES: Mapping[str, tuple[str, str]] = {**_BOUND, **_UNWRITABLE, **_FOUND_ON_LOAD, **_NOTES, **_RERUN}

PROCESS_BOUND = frozenset(_BOUND)
"""Codes of things that no cell brings back as they were; the others become `rerun` when a cell is known."""

_BY_TYPE: Mapping[type, str] = {
    types.GeneratorType: "generator",
    types.AsyncGeneratorType: "generator",
    types.CoroutineType: "coroutine",
    types.FrameType: "frame",
    types.TracebackType: "frame",
}

_BY_NAME: Mapping[str, str] = {
    "_thread.lock": "lock",
    "_thread.RLock": "lock",
    "_thread._local": "thread",
    "_asyncio.Task": "coroutine",
    "_asyncio.Future": "coroutine",
    "_weakref.ReferenceType": "weakref",
    "weakref.ReferenceType": "weakref",
    "weakref.WeakMethod": "weakref",
    "weakref.CallableProxyType": "weakref",
    "weakref.ProxyType": "weakref",
    "asyncio.events.AbstractEventLoop": "coroutine",
    "concurrent.futures._base.Executor": "pool",
    "ipywidgets.widgets.widget.Widget": "widget",
    "mmap.mmap": "mmap",
    "multiprocessing.pool.Pool": "pool",
    "multiprocessing.process.BaseProcess": "process",
    "select.epoll": "socket",
    "socket.socket": "socket",
    "sqlite3.Connection": "connection",
    "sqlite3.Cursor": "connection",
    "sqlalchemy.engine.base.Connection": "connection",
    "ssl.SSLContext": "socket",
    "subprocess.Popen": "process",
    "threading.Thread": "thread",
    "threading.Condition": "lock",
    "threading.Event": "lock",
    "threading.Barrier": "lock",
    "threading.Semaphore": "lock",
    "torch.utils.data.dataloader._BaseDataLoaderIter": "loader_iterator",
    "torchdata.stateful_dataloader.stateful_dataloader._StatefulBaseDataLoaderIter": "loader_iterator",
    "weakref": "weakref",
}


def code_of(kind: type) -> str | None:
    """The code of things of this type or of a type it is made from; None for what may well travel."""
    for base in bases_of(kind):
        code = _BY_TYPE.get(base) or _BY_NAME.get(path_of(base))
        if code:
            return code
    return None


def file_code(file: object) -> str:
    """Why this open file cannot be opened again elsewhere."""
    if getattr(file, "closed", False):
        return "file_closed"
    if not isinstance(getattr(file, "name", None), (str, bytes)):
        return "file_unnamed"
    writable = getattr(file, "writable", None)
    return "file_writing" if callable(writable) and writable() else "file_position"


def is_file(value: object) -> bool:
    """Open files of the io family; in-memory ones carry their content and are no files here. Asks the type only:
    a proxy may raise when it is asked for its class."""
    kind = type(value)
    return issubclass(kind, io.IOBase) and not issubclass(kind, (io.BytesIO, io.StringIO))


def sentence(code: str, words: Mapping[str, str]) -> tuple[str, str]:
    """English and Chinese; a thing inside the variable is named first."""
    en, zh = (text.format_map(_Words(words)) for text in SENTENCES[code])
    inside = words.get("inside")
    if inside and code not in _NAMES_ITS_CULPRIT:
        return f"it holds {inside}: {en}", f"其中含有 {inside}：{zh}"
    return en, zh


def rebuild_text(cells: Sequence[int]) -> tuple[str, str]:
    """How to get it back."""
    if not cells:
        return SENTENCES["rerun_unknown"]
    which, plural = ", ".join(f"[{cell}]" for cell in cells), "s" if len(cells) > 1 else ""
    return f"run cell{plural} {which} again", f"重新运行单元 {which}"


_NAMES_ITS_CULPRIT = frozenset({"no_pickle", "depends", "name_only", "load_raises", "missing_module"})


class _Words(dict[str, str]):
    """A word that is not known is shown as a dash: telling a reason must never fail."""

    def __missing__(self, key: str) -> str:
        return "–"
