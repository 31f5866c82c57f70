"""Performance rows: ours and the peer in one run, alternating; each prints a ratio."""
