"""`python -m gearshift_hub.hub`: JupyterHub, without an import that costs a second and that nobody needs."""

import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # jsonschema goes without (facts-hub 3.4)

from jupyterhub.app import main  # noqa: E402 - after the line above

if __name__ == "__main__":
    main()
