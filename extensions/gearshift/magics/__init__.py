"""The magics of a notebook: `%gearshift` for questions and proposals, `%%gearshift` for jobs.

`gearshift.magics.magics` is the part that needs IPython; it is loaded by `%load_ext gearshift`.
"""

from gearshift.magics.handle import JobHandle
from gearshift.magics.refusal import JobFailedError, MagicError

__all__ = ["JobFailedError", "JobHandle", "MagicError"]
