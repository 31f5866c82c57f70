"""Reduces torch tensors to their storage in memory, with gradients; imported only where the kernel uses torch.

Tensors on a device are staged through the host and placed there again where the new machine has that device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from gearshift.state.memory import Memory, Segment
from gearshift.state.rebuild import LOADING
from gearshift.state.report import Reason

Rule = Callable[[Any], Any]
Notes = Callable[[str], None]


class Storage:
    """One storage while it is saved: the same object for all tensors on it."""

    def __init__(self, segment: Segment, offset: int, nbytes: int, device: str) -> None:
        self.segment, self.offset, self.nbytes, self.device = segment, offset, nbytes, device

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return storage, (self.segment, self.offset, self.nbytes, self.device)


class Storages:
    """Finds the `Storage` of a tensor; keeps staged copies alive until the save is over."""

    def __init__(self, memory: Memory, saw: Callable[[str], None]) -> None:
        self._memory = memory
        self._saw = saw
        self._found: dict[tuple[str, int, int], Storage] = {}

    def of(self, untyped: torch.UntypedStorage) -> Storage | None:
        """None for storages without memory of their own (meta, fake, empty)."""
        device, nbytes = str(untyped.device), untyped.nbytes()
        if device == "meta" or not nbytes or not untyped.data_ptr():
            return None
        self._saw(device)
        key = (device, untyped.data_ptr(), nbytes)
        known = self._found.get(key)
        if known is not None and known.segment.merged_into is None:
            self._memory.use(known.segment)
            return known
        host = untyped if device == "cpu" else untyped.cpu()  # type: ignore[no-untyped-call]
        address = host.data_ptr()
        segment = self._memory.at(address, nbytes, (untyped, host))
        self._found[key] = made = Storage(segment, address - segment.start, nbytes, device)
        return made


def rules(memory: Memory, note: Notes, saw: Callable[[str], None]) -> Mapping[type, Rule]:
    """Reducers by exact type; `note` takes codes of what is lost, `saw` the device of each storage."""
    storages = Storages(memory, saw)

    def reduce_tensor(tensor: torch.Tensor) -> Any:
        found = storages.of(tensor.untyped_storage()) if _is_plain(tensor) else None
        if found is None:
            return NotImplemented
        place = (found, tensor.dtype, tensor.storage_offset(), tuple(tensor.size()), tensor.stride())
        needs_grad = tensor.requires_grad and tensor.is_leaf
        if tensor.requires_grad and not tensor.is_leaf:
            note("grad_fn")
        if getattr(tensor, "_backward_hooks", None):
            note("hooks")
        gradient = tensor.grad if tensor.is_leaf else None
        state = (gradient, tensor.__dict__) if gradient is not None or tensor.__dict__ else None
        setter = set_tensor if state else None
        return tensor_on, (*place, type(tensor) is torch.nn.Parameter, needs_grad), state, None, None, setter

    def reduce_typed(typed: torch.TypedStorage) -> Any:
        found = storages.of(typed.untyped())  # type: ignore[no-untyped-call]
        return NotImplemented if found is None else (typed_storage, (found, typed.dtype))

    def reduce_untyped(untyped: torch.UntypedStorage) -> Any:
        found = storages.of(untyped)
        return NotImplemented if found is None else (untyped_storage, (found,))

    return {
        torch.Tensor: reduce_tensor,
        torch.nn.Parameter: reduce_tensor,
        torch.TypedStorage: reduce_typed,
        torch.UntypedStorage: reduce_untyped,
    }


def storage(memory: memoryview, offset: int, nbytes: int, device: str) -> torch.UntypedStorage:
    """Storage on loaded memory, on its device where the machine has it, else on the CPU with a note."""
    flat = torch.frombuffer(memory, dtype=torch.uint8, offset=offset, count=nbytes)
    if device != "cpu":
        if has_device(device):
            flat = flat.to(device)
        else:
            LOADING.get().notes.append(Reason("on_cpu", {"device": device}))
    return flat.untyped_storage()


def has_device(device: str) -> bool:
    """Whether this machine can hold tensors on it."""
    kind = torch.device(device)
    backend = getattr(torch, kind.type, None)
    if backend is None or not getattr(backend, "is_available", lambda: False)():
        return False
    count = getattr(backend, "device_count", lambda: 1)()
    return (kind.index or 0) < count


def tensor_on(
    untyped: torch.UntypedStorage,
    dtype: torch.dtype,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    is_parameter: bool,
    requires_grad: bool,
) -> torch.Tensor:
    """A tensor at a place in its storage."""
    made = torch.empty(0, dtype=dtype, device=untyped.device)
    made.set_(untyped, offset, size, stride)
    if is_parameter:
        return torch.nn.Parameter(made, requires_grad)
    return made.requires_grad_(requires_grad) if requires_grad else made


def set_tensor(made: torch.Tensor, state: tuple[torch.Tensor | None, dict[str, Any]]) -> None:
    """Its gradient, and whatever was set on it."""
    gradient, attributes = state
    if gradient is not None:
        made.grad = gradient
    made.__dict__.update(attributes)


def typed_storage(untyped: torch.UntypedStorage, dtype: torch.dtype) -> torch.TypedStorage:
    return torch.TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)  # type: ignore[no-untyped-call]


def untyped_storage(untyped: torch.UntypedStorage) -> torch.UntypedStorage:
    return untyped


def _is_plain(tensor: torch.Tensor) -> bool:
    """Strided and without lazy bits; the others go torch's own way, their storages still ours."""
    odd = tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.is_nested
    return tensor.layout is torch.strided and not odd and not _is_wrapped(tensor)


def _is_wrapped(tensor: torch.Tensor) -> bool:
    functorch = getattr(torch._C, "_functorch", None)
    return bool(functorch is not None and functorch.is_functorch_wrapped_tensor(tensor))
