"""Workspaces as pods of a cluster."""
