"""Gearshift."""
