"""Reduces torch tensors to their storage in memory, with gradients; imported only where the kernel uses torch.

Memory of a chip is looked at while planning and read when it is written, a piece at a time. A storage that had to leave
its chip keeps its name (`HOME`), so that it goes back where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from gearshift.state import chips
from gearshift.state.bounded import unbounded
from gearshift.state.memory import Memory, Segment, host_memory
from gearshift.state.pickler import Note
from gearshift.state.rebuild import LOADING

Rule = Callable[[Any], Any]
HOME = "_gearshift_home"
PIECE = 64 << 20
"""How much of a chip's memory is on the host at a time."""


class ChipSegment(Segment):
    """A stretch of a chip's memory; its owners are the storages that it is made of."""

    __slots__ = ()

    def pieces(self) -> Iterator[memoryview]:
        """Copied to the host when asked for."""
        at = self.start
        while at < self.stop:
            owner = next(o for o in self.owners if o.data_ptr() <= at < o.data_ptr() + o.nbytes())
            inside = at - owner.data_ptr()
            length = min(PIECE, owner.nbytes() - inside)
            there = torch.empty(0, dtype=torch.uint8, device=owner.device).set_(
                owner, inside, (length,), (1,)
            )
            with unbounded():
                host = there.cpu()
            yield host_memory(host.data_ptr(), length)
            at += length


class Storage:
    """One storage while it is saved: the same object for all tensors on it."""

    def __init__(self, segment: Segment | None, offset: int, nbytes: int, device: str) -> None:
        self.segment, self.offset, self.nbytes, self.device = segment, offset, nbytes, device

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return storage, (self.segment, self.offset, self.nbytes, self.device)


class Storages:
    """Finds the `Storage` of a tensor; every chip has a memory of its own."""

    def __init__(self, memory: Memory, note: Note, saw: Callable[[str], None]) -> None:
        self._memory = memory
        self._note, self._saw = note, saw
        self._memories = {"cpu": memory}
        self._found: dict[tuple[str, int, int], Storage] = {}

    def of(self, untyped: torch.UntypedStorage) -> Storage | None:
        """None for storages without memory of their own (meta, fake), or with none at all on the CPU."""
        device, nbytes = str(untyped.device), untyped.nbytes()
        if device == "meta" or (not untyped.data_ptr() and (nbytes or device == "cpu")):
            return None
        self._saw(device)
        home = getattr(untyped, HOME, device)
        if home != device:
            self._note("goes_home", device=home)
        if not nbytes:
            return Storage(None, 0, 0, home)
        address = untyped.data_ptr()
        key = (device, address, nbytes)
        known = self._found.get(key)
        if known is not None and known.segment is not None and known.segment.merged_into is None:
            self._memory.use(known.segment)
            return known
        if device not in self._memories:
            self._memories[device] = Memory(ChipSegment, self._memory)
        segment = self._memories[device].at(address, nbytes, untyped)
        self._found[key] = made = Storage(segment, address - segment.start, nbytes, home)
        return made


def rules(memory: Memory, note: Note, saw: Callable[[str], None]) -> Mapping[type, Rule]:
    """Reducers by exact type; `note` takes codes of what is lost, `saw` the device of each storage."""
    storages = Storages(memory, note, saw)

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


def storage(memory: memoryview | None, offset: int, nbytes: int, device: str) -> torch.UntypedStorage:
    """Storage on loaded memory, on the chip that this machine has for it, else on the CPU; a change is told."""
    flat = _bytes(memory, offset, nbytes)
    if device == "cpu":
        return flat.untyped_storage()
    with unbounded():
        placed, note = chips.place(flat, device)
    made = placed.untyped_storage()
    if note is not None:
        LOADING.get().notes.append(note)
        setattr(made, HOME, device)
    return made


def _bytes(memory: memoryview | None, offset: int, nbytes: int) -> torch.Tensor:
    if memory is None:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(memory, dtype=torch.uint8, offset=offset, count=nbytes)


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
