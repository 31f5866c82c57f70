"""The errors of images: what is let in, what is there, what could not be made."""

from __future__ import annotations

from gearshift.model.error_kind import ErrorKind

IMAGE_ERRORS = {
    "image_declared": ErrorKind(
        422,
        "The image {value!r} is only declared: it has no digest and cannot be started.[[ It needs {needs}.]]"
        "[[ Images that {machine} can start: {allowed}.]]",
        "镜像 {value!r} 仅作声明：没有摘要，不能启动。[[{needs_zh}。]][[{machine} 可启动的镜像：{allowed}。]]",
    ),
    "image_moved": ErrorKind(
        409,
        "The image {value!r} has moved: {pinned} is let in here, {found} is what is there. Nothing was started."
        " Who operates this deployment can pin the new one.",
        "镜像 {value!r} 已变动：此处允许 {pinned}，现有 {found}。未启动任何内容。部署的管理员可以固定新的摘要。",
    ),
    "image_changed": ErrorKind(
        409,
        "The environment of the image {value!r} was changed ({names}): it was built as {built} and is {found}."
        " Nothing was started. `gearshift image build {value} --again` makes it anew.",
        "镜像 {value!r} 的环境被更改（{names}）：构建时为 {built}，现为 {found}。未启动任何内容。"
        "可用 `gearshift image build {value} --again` 重新构建。",
    ),
    "image_failed": ErrorKind(
        409,
        "The environment of the image {value!r} could not be made: {why} Nothing was charged.",
        "镜像 {value!r} 的环境未能建成：{why} 没有收费。",
    ),
    "image_not_ready": ErrorKind(
        409,
        "The environment of the image {value!r} is being made ({doing}). Try again in a moment; nothing was changed.",
        "正在准备镜像 {value!r} 的环境（{doing_zh}）。请稍后再试；未作任何更改。",
    ),
    "driver_old": ErrorKind(
        422,
        "The driver of {machine} is {driver}; the image {value!r} needs {needed} or newer."
        "[[ Images that it can start: {allowed}.]]",
        "{machine} 的驱动版本为 {driver}；镜像 {value!r} 需要 {needed} 或更新。[[可启动的镜像：{allowed}。]]",
    ),
}
