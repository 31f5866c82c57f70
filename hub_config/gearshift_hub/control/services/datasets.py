"""Data sets and models for workspaces: found, made ready in the shared store, attached at once, taken off again.

Attaching is a record (the workspace's spec names it), files in the store, and a link `~/datasets/NAME`. The record
comes first: files that are not there yet are made in the background, and after a kill they are made at the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from gearshift.model.dataset import Card, DatasetState, DatasetStatus
from gearshift.model.errors import GearshiftError, fail
from gearshift.model.workspace import WorkspaceSpec

from gearshift_hub import data
from gearshift_hub.backends.local.datasets import LocalDatasets
from gearshift_hub.control.auth import Actor
from gearshift_hub.control.clock import DeadlineError, within
from gearshift_hub.control.context import Context
from gearshift_hub.control.services import dataset_cards, disk_access, workspaces

log = logging.getLogger("gearshift.control")

Change = Callable[[WorkspaceSpec], tuple[str, ...]]

ANSWER_S = 2.0
"""So long an attach waits for the files before it answers `preparing`."""


class DatasetShelf:
    """The cards that are offered, the store, and what is being made right now."""

    def __init__(self, cards: Mapping[str, Card], store: LocalDatasets) -> None:
        self.cards = cards
        self.store = store
        self.making: dict[str, asyncio.Task[None]] = {}

    def card(self, name: str) -> Card:
        found = self.cards.get(name)
        if found is None:
            raise fail("unknown_dataset", field="dataset", value=name, allowed=list(self.cards))
        return found


def plug(ctx: Context) -> None:
    """Read the cards and register what happens before a launch."""
    cards = dataset_cards.load(data.path("cards"))
    offered = dataset_cards.enabled(cards, ctx.deployment.datasets.enabled)
    ctx.home.store.mkdir(mode=0o755, parents=True, exist_ok=True)
    ctx.backend.parts.put(DatasetShelf, DatasetShelf(offered, LocalDatasets(ctx.home.store)))
    ctx.hooks.before_launch.append(lambda owner, name, _person: prepare(ctx, owner, name))


def shelf(ctx: Context) -> DatasetShelf:
    return ctx.backend.parts.get(DatasetShelf)


def search(ctx: Context, actor: Actor, query: str, workspace: str | None) -> list[DatasetStatus]:
    """What is offered and holds every word of the query, with its state for the workspace."""
    attached = _attached(ctx, actor, workspace)
    return [_status(ctx, card, attached) for card in dataset_cards.search(shelf(ctx).cards.values(), query)]


def one(ctx: Context, actor: Actor, name: str, workspace: str | None) -> DatasetStatus:
    return _status(ctx, shelf(ctx).card(name), _attached(ctx, actor, workspace))


async def attach(ctx: Context, actor: Actor, workspace: str, name: str) -> DatasetStatus:
    """Let the running workspace have it at once; doing it again is success."""
    owner, short = workspaces.parse_id(workspace)
    actor.check_owner(owner)
    card = shelf(ctx).card(name)
    _change(ctx, owner, short, lambda spec: (*(d for d in spec.datasets if d != name), name))
    making = make(ctx, card)
    try:
        await within(ctx.clock, ANSWER_S, asyncio.shield(making))
    except DeadlineError:
        _tell(ctx, workspace, DatasetState.PREPARING, card)
        making.add_done_callback(lambda done: _later(ctx, workspace, card, done))
        return _status(ctx, card, {name})
    except GearshiftError as error:
        _give_up(ctx, workspace, card, error)
        raise
    place_links(ctx, owner)
    _tell(ctx, workspace, DatasetState.ATTACHED, card)
    return _status(ctx, card, {name})


def detach(ctx: Context, actor: Actor, workspace: str, name: str) -> DatasetStatus:
    """Take it off; taking off what is not attached is success. The files stay in the store."""
    owner, short = workspaces.parse_id(workspace)
    actor.check_owner(owner)
    card = shelf(ctx).card(name)
    _change(ctx, owner, short, lambda spec: tuple(d for d in spec.datasets if d != name))
    place_links(ctx, owner)
    _tell(ctx, workspace, DatasetState.READY, card)
    return _status(ctx, card, set())


def make(ctx: Context, card: Card) -> asyncio.Task[None]:
    """The one task that makes these files; done at once when they are there."""
    making = shelf(ctx).making
    task = making.get(card.id)
    if task is None:
        task = making[card.id] = asyncio.ensure_future(_make(ctx, card))
        task.add_done_callback(lambda _done: making.pop(card.id, None))
    return task


async def prepare(ctx: Context, owner: str, name: str) -> None:
    """Right before a launch: everything that the workspace names is in the store and linked.

    A set that cannot be made does not keep anybody from working: it is told, and left out.
    """
    with ctx.db.transaction() as session:
        wanted = workspaces.spec_of(workspaces.get(session, owner, name)).datasets
    for card in [shelf(ctx).cards[dataset] for dataset in wanted if dataset in shelf(ctx).cards]:
        try:
            await make(ctx, card)
        except GearshiftError as error:
            _give_up(ctx, f"{owner}/{name}", card, error)
    place_links(ctx, owner)


def place_links(ctx: Context, user: str) -> None:
    """Make `~/datasets` hold a link for each set that one of this person's workspaces names."""
    store = shelf(ctx).store
    with ctx.db.transaction() as session:
        named = {
            name for row in workspaces.listed(session, user) for name in workspaces.spec_of(row).datasets
        }
    cards = [card for card in shelf(ctx).cards.values() if card.id in named and store.is_there(card)]
    disk_access.put_links(
        ctx, user, "datasets", {card.id: store.path(card) for card in cards}, ctx.home.store
    )


async def _make(ctx: Context, card: Card) -> None:
    await asyncio.to_thread(shelf(ctx).store.materialise, card)


def _later(ctx: Context, workspace: str, card: Card, making: asyncio.Task[None]) -> None:
    """The files came, or failed to come, after the answer."""
    error = None if making.cancelled() else making.exception()
    if isinstance(error, GearshiftError):
        _give_up(ctx, workspace, card, error)
    elif error is not None:
        _give_up(ctx, workspace, card, fail("data_failed", cause=str(error), value=card.id))
    elif not making.cancelled():
        place_links(ctx, workspaces.parse_id(workspace)[0])
        _tell(ctx, workspace, DatasetState.ATTACHED, card)


def _give_up(ctx: Context, workspace: str, card: Card, error: GearshiftError) -> None:
    log.warning("data set %s for %s: %s", card.id, workspace, error)
    owner, name = workspaces.parse_id(workspace)
    _change(ctx, owner, name, lambda spec: tuple(d for d in spec.datasets if d != card.id))
    _tell(ctx, workspace, DatasetState.FAILED, card, error)


def _attached(ctx: Context, actor: Actor, workspace: str | None) -> set[str]:
    """What the workspace named in the query, or the caller's own one, has."""
    asked = workspace or actor.workspace
    if asked is None:
        return set()
    owner, name = workspaces.parse_id(asked)
    actor.check_owner(owner)
    with ctx.db.transaction() as session:
        return set(workspaces.spec_of(workspaces.get(session, owner, name)).datasets)


def _status(ctx: Context, card: Card, attached: set[str]) -> DatasetStatus:
    there = shelf(ctx).store.is_there(card)
    if card.id in attached:
        state = DatasetState.ATTACHED if there else DatasetState.PREPARING
    else:
        state = DatasetState.PREPARING if card.id in shelf(ctx).making else DatasetState.READY
    path = f"~/datasets/{card.id}" if state is DatasetState.ATTACHED else None
    return DatasetStatus(card=card, state=state, path=path)


def _change(ctx: Context, owner: str, name: str, change: Change) -> None:
    with ctx.db.transaction() as session:
        row = workspaces.get(session, owner, name)
        spec = workspaces.spec_of(row)
        changed = spec.model_copy(update={"datasets": change(spec)})
        if changed != spec:
            workspaces.set_spec(session, row, changed)
            workspaces.tell(ctx, session, row)


def _tell(
    ctx: Context, workspace: str, state: DatasetState, card: Card, error: GearshiftError | None = None
) -> None:
    told = {
        "dataset": card.id,
        "state": state.value,
        "path": f"~/datasets/{card.id}" if state is DatasetState.ATTACHED else None,
        "error": error.body()["error"] if error else None,
    }
    owner, _ = workspaces.parse_id(workspace)
    with ctx.db.transaction() as session:
        ctx.events.add(session, "dataset.state", told, owner=owner, workspace=workspace)
