"""The table of errors: code, HTTP status and the two sentences; the words are those of ui.md 8 and 9."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gearshift.model.error_kind import ErrorKind
from gearshift.model.image_errors import IMAGE_ERRORS

_NAMES = {
    "bad_name": ErrorKind(
        422,
        "{value!r} cannot be a name. Use 1–30 of a–z, 0–9 and -, beginning with a letter.",
        "{value!r} 不能用作名称。1–30 个字符，仅限 a–z、0–9 与 -，以字母开头。",
    ),
    "bad_path": ErrorKind(404, "{value!r} is not a path inside {root}.", "{value!r} 不是 {root} 内的路径。"),
    "bad_request": ErrorKind(
        422,
        "{field}[[ = {value!r}]] was refused[[: {problem}]].[[ Allowed: {allowed}.]]",
        "{field}[[ = {value!r}]] 不被接受[[：{problem}]]。[[允许：{allowed}。]]",
    ),
    "bad_nodes": ErrorKind(
        422,
        "{field}[[ = {value!r}]] was refused.[[ Allowed: {allowed}.]]",
        "{field}[[ = {value!r}]] 不被接受。[[允许：{allowed}。]]",
    ),
    "syntax_error": ErrorKind(
        422,
        "The cell has a syntax error in line {line}: {problem}. Nothing was reserved or charged.",
        "单元第 {line} 行有语法错误：{problem}。没有预留，也没有收费。",
    ),
    "unpicklable": ErrorKind(
        422,
        "Cannot be sent to the job: {names}. Nothing was reserved or charged.",
        "无法送往任务：{names}。没有预留，也没有收费。",
    ),
    "too_large": ErrorKind(
        413, "{field} is {size}; at most {limit} is possible.", "{field} 为 {size}，最多 {limit}。"
    ),
    "unknown_machine": ErrorKind(
        404,
        "There is no machine {value!r}.[[ Allowed: {allowed}.]]",
        "没有机器 {value!r}。[[可选：{allowed}。]]",
    ),
    "unknown_plan": ErrorKind(
        422,
        "{machine} has no price {value!r}.[[ Allowed: {allowed}.]]",
        "{machine} 没有 {value!r} 价格。[[可选：{allowed}。]]",
    ),
    "unknown_image": ErrorKind(
        404,
        "There is no image {value!r}.[[ Allowed: {allowed}.]]",
        "没有镜像 {value!r}。[[可选：{allowed}。]]",
    ),
    "unknown_disk": ErrorKind(
        404,
        "There is no disk {value!r} among yours.[[ Allowed: {allowed}.]]",
        "您没有磁盘 {value!r}。[[可选：{allowed}。]]",
    ),
    "unknown_dataset": ErrorKind(
        404,
        "There is no data set or model {value!r}.[[ Allowed: {allowed}.]]",
        "没有数据集或模型 {value!r}。[[可选：{allowed}。]]",
    ),
    "unknown_workspace": ErrorKind(404, "There is no workspace {value!r}.", "没有工作区 {value!r}。"),
    "unknown_job": ErrorKind(404, "There is no job {value!r}.", "没有任务 {value!r}。"),
    "job_not_ended": ErrorKind(
        409,
        "Job {value!r} is {state}: cancel it first, or wait for its end.",
        "任务 {value!r} 的状态是 {state}：请先取消，或等它结束。",
    ),
    "not_attached": ErrorKind(
        409,
        "Job {value!r} is not attached to a cell of yours: cancel it in its widget.",
        "任务 {value!r} 没有附着在你的单元格上：请在任务卡片里取消。",
    ),
    "no_checkpoint": ErrorKind(
        409,
        "Job {value!r} has no complete checkpoint: start it anew, and let it call gt.save_checkpoint().",
        "任务 {value!r} 没有完整的检查点：请重新启动，并在代码里调用 gt.save_checkpoint()。",
    ),
    "job_files_gone": ErrorKind(
        410,
        "The files of job {value!r} were removed on {when}: logs, results and checkpoints are kept {days} days after "
        "the end of a job.",
        "任务 {value!r} 的文件已于 {when} 删除：日志、结果与检查点在任务结束后保留 {days} 天。",
    ),
    "unknown_state": ErrorKind(
        404, "There is no kept state {value!r} of {workspace}.", "{workspace} 没有保留的状态 {value!r}。"
    ),
    "unknown_wait": ErrorKind(
        404, "There is no place on the waitlist {value!r}.", "候补名单中没有 {value!r}。"
    ),
    "not_held": ErrorKind(
        409,
        "Nothing is held for {value!r}: it is {state}.",
        "没有为 {value!r} 保留机器：当前状态是 {state}。",
    ),
    "cap_too_low": ErrorKind(
        422,
        "cap_nano = {value!r} cannot be the cap: the price now is {price}/h. Allow at least that.",
        "cap_nano = {value!r} 不能作为上限：当前价格为 {price}/h。上限至少为此价。",
    ),
    "others_wait": ErrorKind(
        409,
        "The {machine} cannot be held longer: somebody is next in line. Start or switch now, or let it go.",
        "{machine} 不能再保留：有人排在下一位。请现在启动或切换，或放弃。",
    ),
    "quota_over": ErrorKind(
        422,
        "{field} = {value!r} needs {needed} {what} at once; {whose} may hold {limit}.",
        "{field} = {value!r} 同时需要 {needed} 个{what_zh}；{whose_zh}最多可占用 {limit} 个。",
    ),
    "not_queued": ErrorKind(
        409,
        "Job {value!r} is {state}: only one in line can be changed.",
        "任务 {value!r} 的状态是 {state}：只有排队中的任务可以更改。",
    ),
    "unknown_operation": ErrorKind(404, "There is no operation {value!r}.", "没有操作 {value!r}。"),
    "unknown_user": ErrorKind(404, "There is no user {value!r}.", "没有用户 {value!r}。"),
    "not_found": ErrorKind(404, "There is nothing at {value!r}.", "{value!r} 处没有内容。"),
    "image_mismatch": ErrorKind(
        422,
        "{machine} does not run the image {value!r}.[[ Allowed: {allowed}.]]",
        "{machine} 不能运行镜像 {value!r}。[[可选：{allowed}。]]",
    ),
}

_PEOPLE = {
    "unauthenticated": ErrorKind(401, "Sign in again to go on.", "请重新登录后继续。"),
    "wrong_sign_in": ErrorKind(401, "Name or password is wrong.", "名称或密码不正确。"),
    "too_many_attempts": ErrorKind(
        429,
        "Too many people are signing in right now. Try again in {seconds} s.",
        "当前登录请求过多。请在 {seconds} 秒后重试。",
    ),
    "wrong_code": ErrorKind(
        401,
        "This code is wrong or was used already. Your admin can give you a new one.",
        "此代码不正确或已使用。管理员可以给您一个新的。",
    ),
    "disabled_user": ErrorKind(
        403, "The account {value!r} is disabled. Ask your admin.", "账户 {value!r} 已停用。请联系管理员。"
    ),
    "user_exists": ErrorKind(409, "There is a user {value!r} already.", "用户 {value!r} 已存在。"),
    "bad_password": ErrorKind(
        422, "A password needs at least {minimum} characters.", "密码至少需要 {minimum} 个字符。"
    ),
    "forbidden": ErrorKind(403, "Only {role} can do this.", "只有{role_zh}可以这样做。"),
    "csrf": ErrorKind(
        403,
        "The request came without the token of this page. Reload the page and press again.",
        "请求缺少此页面的令牌。请刷新页面后再次按下。",
    ),
    "needs_confirmation": ErrorKind(
        403,
        "This spends, stops or deletes: it needs a press in the dialog, a yes on the terminal, or a spend "
        "token with --max-price and --max-cost.",
        "此操作会花费、停止或删除：需要在对话框中按下、在终端确认，或使用带 --max-price 与 --max-cost 的消费令牌。",
    ),
    "needs_press": ErrorKind(
        403,
        "This loads what others could write to: it needs a press in the dialog under Machine › History. "
        "No token and no script can agree to it.",
        "此操作会加载他人可以写入的内容：需要在“机器 › 历史”的对话框中按下。任何令牌或脚本都不能代为同意。",
    ),
}

_CAPACITY_AND_MONEY = {
    "sold_out": ErrorKind(
        409,
        "{machine} is sold out: {free} of {total} free. You would be at position {position}. "
        "Free now: {alternatives}.",
        "{machine} 已售罄：空闲 {free} / {total}。您将排第 {position} 位。当前空闲：{alternatives}。",
    ),
    "limit_reached": ErrorKind(
        403,
        "You have {used} of {limit} {what}. End one first.",
        "您已有 {used} / {limit} 个{what_zh}。请先结束一个。",
    ),
    "balance_low": ErrorKind(
        402,
        "Your balance is {amount}; {machine} costs {price}/h. Ask your admin to top up.",
        "余额为 {amount}；{machine} 每小时 {price}。请联系管理员充值。",
    ),
    "budget_over": ErrorKind(
        402, "Estimated {amount}; the budget has {left} left.", "预估 {amount}；预算还剩 {left}。"
    ),
    "over_cap": ErrorKind(
        409,
        "{what} would be {amount}, over the cap of {cap}. Nothing was done.",
        "{what_zh}将为 {amount}，超过上限 {cap}。未执行任何操作。",
    ),
    "ledger_broken": ErrorKind(
        500,
        "The ledger does not add up from entry {seq}. Charging is paused; your admin has been told.",
        "账本从第 {seq} 条起不一致。已暂停计费并通知管理员。",
    ),
}

_OPERATIONS = {
    "start_failed": ErrorKind(
        502,
        "{machine} was reserved but did not start: exit {exit}. Not charged.",
        "已预留 {machine}，但启动失败：退出码 {exit}。未收费。",
    ),
    "start_timeout": ErrorKind(
        504,
        "{machine} was reserved but was not ready within {seconds} s. Not charged.",
        "已预留 {machine}，但未在 {seconds} 秒内就绪。未收费。",
    ),
    "app_port_open": ErrorKind(
        409,
        "This app listens on a port that other people of this box could reach ({why}). Not charged. Choose an app that "
        "listens on a socket, or ask your admin for iptables.",
        "该应用监听的端口会被本机其他用户访问（{why}）。未收费。请选择使用套接字的应用，或请管理员安装 iptables。",
    ),
    "image_unavailable": ErrorKind(
        502,
        "{machine} was reserved, but the cluster could not fetch its image: {cause}. Not charged. Your admin has to "
        "correct the image's name, or the cluster's access to the registry.",
        "已预留 {machine}，但集群无法拉取镜像：{cause}。未收费。请管理员更正镜像名称或集群访问镜像仓库的权限。",
    ),
    "no_node": ErrorKind(
        503,
        "{machine} was reserved, but within {seconds} s no node of the cluster had room for it ({cause}). Not charged. "
        "Choose another machine, or try again later.",
        "已预留 {machine}，但 {seconds} 秒内集群没有节点能容纳它（{cause}）。未收费。请选择其他机器，或稍后重试。",
    ),
    "home_not_attached": ErrorKind(
        503,
        "{machine} was reserved, but within {seconds} s your home could not be attached to its node: {cause}. Not "
        "charged. Stop what else of yours runs with it, or tell your admin.",
        "已预留 {machine}，但 {seconds} 秒内无法将主目录挂载到节点：{cause}。未收费。"
        "请停止占用它的其他工作区，或联系管理员。",
    ),
    "cluster_refused": ErrorKind(
        502,
        "The cluster refused to start {machine}: {cause}. Not charged. Your admin finds out more with `gearshift doctor`.",
        "集群拒绝启动 {machine}：{cause}。未收费。管理员可用 `gearshift doctor` 查明原因。",
    ),
    "cluster_unavailable": ErrorKind(
        503,
        "The cluster does not answer. What runs goes on; try again in a minute.",
        "集群没有响应。正在运行的不受影响；请稍后重试。",
    ),
    "not_offered": ErrorKind(
        404,
        "{what} are not offered where this deployment runs its workspaces.",
        "此部署运行工作区的地方不提供{what_zh}。",
    ),
    "stop_failed": ErrorKind(
        502,
        "{workspace} could not be confirmed as stopped. It is tried again; time from {since} is not charged.",
        "无法确认 {workspace} 已停止。正在重试；{since} 之后不收费。",
    ),
    "step_failed": ErrorKind(502, "The step {step} failed: {cause}.", "步骤 {step} 失败：{cause}。"),
    "step_timeout": ErrorKind(504, "{step} took over {seconds} s.", "{step} 超过 {seconds} 秒。"),
    "cancelled": ErrorKind(409, "Cancelled by {by}.", "已由 {by} 取消。"),
    "too_late": ErrorKind(
        409,
        "The {kind} can no longer go back: {step} has begun.",
        "操作已无法返回：{step} 已经开始。",
    ),
    "busy": ErrorKind(
        409,
        "{workspace} is busy: the {kind} {operation} is running. Wait for its end or cancel it.",
        "{workspace} 正忙：操作 {operation}（{kind}）正在进行。请等待结束或取消它。",
    ),
    "not_running": ErrorKind(409, "{workspace} is not running.", "{workspace} 未在运行。"),
    "already_running": ErrorKind(
        409, "{workspace} is running already on {machine}.", "{workspace} 已在 {machine} 上运行。"
    ),
    "cannot_switch": ErrorKind(409, "Not switched. {cause}.", "没有切换。{cause}。"),
    "memory_in_use": ErrorKind(
        409,
        "{machine} is too small: {in_use} of memory are in use, and it has {limit}. Nothing was changed. "
        "Free some memory or choose a larger machine.",
        "{machine_zh} 太小：已使用 {in_use} 内存，而它只有 {limit}。没有任何改动。请释放内存或选择更大的机器。",
    ),
    "too_small": ErrorKind(
        409,
        "{machine} is too small: what is in use needs {need} of {what}, and it has {have}. Nothing was changed. "
        "Leave variables out of the plan, free some memory, or choose a larger machine.",
        "{machine_zh} 太小：正在使用的内容需要 {need} {what_zh}，而它只有 {have}。没有任何改动。"
        "请在计划中不带走一些变量、释放内存，或选择更大的机器。",
    ),
    "save_failed": ErrorKind(
        502,
        "Kernel state was not saved: {cause}. Nothing was stopped.",
        "内核状态未保存：{cause}。没有停止任何东西。",
    ),
    "restore_failed": ErrorKind(
        502,
        "Kernel state was not restored on {machine}: {cause}.",
        "未能在 {machine} 上恢复内核状态：{cause}。",
    ),
    "state_refused": ErrorKind(
        409,
        "The kept state {state} was not loaded: {cause}. Nothing of it was used.",
        "保留的状态 {state} 未被加载：{cause}。没有使用其中任何内容。",
    ),
    "state_full": ErrorKind(
        409,
        "The snapshot needs {size}, and of your {limit} for kept state {used} are used. "
        "Delete one under Machine › History, or with: gearshift state delete.",
        "此快照需要 {size}，您的保留状态空间 {limit} 中已用 {used}。"
        "请在“机器 › 历史”中或用 gearshift state delete 删除一个。",
    ),
    "still_running": ErrorKind(
        409,
        "{workspace} is {state}: stop it first, then delete it.",
        "{workspace} 处于 {state} 状态：请先停止，再删除。",
    ),
    "plan_unknown": ErrorKind(404, "There is no plan {value!r}.", "没有计划 {value!r}。"),
    "plan_used": ErrorKind(409, "The plan {value!r} was confirmed already.", "计划 {value!r} 已经确认过。"),
    "plan_stale": ErrorKind(
        409,
        "Plan updated: {what} changed. Check and press again.",
        "计划已更新：{what_zh} 有变化。请核对后再次确认。",
    ),
    "control_unavailable": ErrorKind(
        503,
        "Gearshift cannot be reached now. Your kernel and jobs keep running.",
        "现在无法连接 Gearshift。内核与任务仍在运行。",
    ),
    "internal": ErrorKind(
        500,
        "This is a fault of ours, reference {reference}. Nothing was charged for it.",
        "这是我们的故障，编号 {reference}。不会因此收费。",
    ),
}

_DISKS = {
    "disk_in_use": ErrorKind(
        409, "The disk {value!r} is in use by {users}.", "磁盘 {value!r} 正由 {users} 使用。"
    ),
    "disk_not_yours": ErrorKind(
        403,
        "You are not a member of the disk {value!r}.[[ Allowed: {allowed}.]]",
        "您不是磁盘 {value!r} 的成员。[[可选：{allowed}。]]",
    ),
    "disk_readonly": ErrorKind(
        403, "{disk} is read-only for you. Ask {owner}.", "您对 {disk} 只有只读权限。请联系 {owner}。"
    ),
    "disk_exists": ErrorKind(409, "You have a disk {value!r} already.", "您已有磁盘 {value!r}。"),
    "disk_full": ErrorKind(
        507,
        "Disk {disk} is full: {used} of {size}. Your file was not changed.",
        "磁盘 {disk} 已满：{used} / {size}。您的文件没有改动。",
    ),
    "disk_missing": ErrorKind(
        409,
        "The disk of this workspace was not found. Choose one: nothing is created by itself.",
        "未找到此工作区的磁盘。请选择：系统不会自行新建。",
    ),
    "data_failed": ErrorKind(
        502,
        "Not attached: {cause}. Your cell can go on without it.",
        "没有挂载：{cause}。单元仍可继续运行。",
    ),
}

_KERNELS = {
    "memory_near": ErrorKind(
        507,
        "Memory is nearly full: {use} of {limit}.[[ Largest: {largest}.]] Free some or take a larger machine: "
        "kernels keep everything.",
        "内存即将用尽：{use} / {limit}。[[最大的变量：{largest}。]]请释放一些，或换更大的机器：内核会保留全部内容。",
    ),
    "memory_interrupted": ErrorKind(
        507,
        "The cell in {kernel} was interrupted before memory ran out: {use} of {limit}. "
        "What it had made is still there: delete it, or take a larger machine.",
        "{kernel} 中的单元在内存用尽之前被中断：{use} / {limit}。它已创建的内容仍在：请删除，或换更大的机器。",
    ),
    "kernel_oom": ErrorKind(
        507,
        "Kernel {kernel} was ended: out of memory. Peak {peak} of {limit}.[[ It was running {cell}.]] "
        "Other kernels are unharmed. A larger machine has more.",
        "内核 {kernel} 已终止：内存不足。峰值 {peak} / {limit}。[[当时正在运行 {cell}。]]其他内核不受影响。可换更大的机器。",
    ),
    "kernel_signal": ErrorKind(
        500,
        "Kernel {kernel} ended by signal {signal}[[ ({signal_name})]].[[ It was running {cell}.]] "
        "Other kernels are unharmed.",
        "内核 {kernel} 因信号 {signal}[[（{signal_name}）]]终止。[[当时正在运行 {cell}。]]其他内核不受影响。",
    ),
    "kernel_exit": ErrorKind(
        500,
        "Kernel {kernel} ended by itself[[ with exit code {exit_code}]].[[ It was running {cell}.]]",
        "内核 {kernel} 自行退出[[，退出码 {exit_code}]]。[[当时正在运行 {cell}。]]",
    ),
}

ERRORS: Mapping[str, ErrorKind] = MappingProxyType(
    {**_NAMES, **IMAGE_ERRORS, **_PEOPLE, **_CAPACITY_AND_MONEY, **_OPERATIONS, **_DISKS, **_KERNELS}
)
