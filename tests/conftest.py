"""What all tests share: the fixtures of the support package, and deadlines that a busy machine can meet."""

from hypothesis import HealthCheck, settings
from playwright import async_api, sync_api

pytest_plugins = ["gearshift_testing.fixtures"]

PAGE_MS = 60_000
"""How long a page may take to show what is expected; a condition that holds sooner ends the wait."""

sync_api.expect.set_options(timeout=PAGE_MS)
async_api.expect.set_options(timeout=PAGE_MS)
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
