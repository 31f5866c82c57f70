"""A small storm of random faults; the large one is the benchmark `faults`."""

from __future__ import annotations

import pytest
from gearshift_testing.controls import ON_SQLITE
from gearshift_testing.fault_storm import Storm

pytestmark = ON_SQLITE


@pytest.mark.parametrize("seed", [11])
async def test_a_storm_loses_doubles_and_leaves_nothing(database_url: str, seed: int) -> None:
    storm = Storm(database_url, seed)
    try:
        count = await storm.blow(15)
    finally:
        await storm.close()
    assert count.cases == []
    assert count.faults >= 15
