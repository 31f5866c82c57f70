"""Replays a trace of use under the idle rule and under two others, for `gearshift policy replay`."""
