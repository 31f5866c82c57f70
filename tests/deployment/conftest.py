"""Hypothesis without a deadline per example: the cores are shared, and a slow moment is no fault."""

from hypothesis import HealthCheck, settings

settings.register_profile("shared-cores", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-cores")
