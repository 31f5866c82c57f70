"""What traefik is started with: addresses, no time limits, and names of files passed through as they come."""

from __future__ import annotations

from pathlib import Path

from gearshift_hub.paths import Home, Ports

ENCODED = ("Slash", "BackSlash", "NullCharacter", "Semicolon", "Percent", "QuestionMark", "Hash")
"""Characters that file names may hold; a browser sends them encoded and they must arrive so."""


def static_file(home: Home) -> Path:
    return home.state / "traefik.toml"


def rules_file(home: Home) -> Path:
    return home.state / "traefik-rules.toml"


def static_settings(home: Home, ports: Ports) -> str:
    """The TOML that traefik is started with; no time limit cuts a long upload or a quiet stream."""
    encoded = "\n".join(f"allowEncoded{name} = true" for name in ENCODED)
    return f"""\
[global]
checkNewVersion = false
sendAnonymousUsage = false
[log]
level = "ERROR"
[api]
[entryPoints.http]
address = "{_bracketed(ports.host)}:{ports.port}"
[entryPoints.http.transport.respondingTimeouts]
readTimeout = "0s"
writeTimeout = "0s"
[entryPoints.http.transport.lifeCycle]
graceTimeOut = "1s"
[entryPoints.http.http.encodedCharacters]
{encoded}
[entryPoints.auth_api]
address = "127.0.0.1:{ports.traefik_api_port}"
[providers]
providersThrottleDuration = "0s"
[providers.file]
filename = "{rules_file(home)}"
watch = true
"""


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
