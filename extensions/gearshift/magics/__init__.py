"""The magics of a notebook: `%gearshift` for questions and proposals, `%%gearshift` for jobs."""

from gearshift.magics.handle import JobHandle
from gearshift.magics.magics import load
from gearshift.magics.refusal import JobFailedError, MagicError

__all__ = ["JobFailedError", "JobHandle", "MagicError", "load"]
