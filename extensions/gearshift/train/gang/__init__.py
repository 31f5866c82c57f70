"""The gang supervisor: starts the ranks of one job, watches them, and leaves nothing behind.

Words: an *order* says what to start, an *attempt* is one try of all ranks, a *member* is a process the
supervisor started (a rank, or torchrun's agent of a node), an *ending* says why an attempt was over.
Only the standard library is imported here: the supervisor stands between the platform and the first step.
"""
