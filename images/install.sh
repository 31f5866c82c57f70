#!/bin/sh
# Adds what a lock pins to /opt/venv: install.sh LOCK [TORCH_SPEC]. Run by the Containerfiles, in one layer each.
# uv lies in a cache mount and not in the image; with no secret given the registries are pip's own. LOCK is the digest that
# the lock must have; it and RECIPE, the digest of this file, make other layers where a mounted file has changed.
set -eu
lock=$1 torch=${2:-}
[ -z "${LOCK:-}" ] || echo "${LOCK#sha256:}  $lock" | sha256sum --quiet --check -
if [ -s /run/settings ]; then . /run/settings; fi
if [ -s /run/ca.crt ]; then export SSL_CERT_FILE=/run/ca.crt; fi
export UV_CACHE_DIR=/root/.cache/uv UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_NO_PROGRESS=1
uv=/uv/bin/uv venv=/opt/venv
[ -x $uv ] || { python3 -m venv /uv && /uv/bin/pip install --quiet "uv==$UV_VERSION"; }
[ -x $venv/bin/python ] || $uv venv --quiet $venv
$uv pip install --quiet --python $venv/bin/python --no-deps --require-hashes --requirement "$lock"
if [ -n "$torch" ]; then
  grep -oE '^[a-z0-9][a-z0-9._-]*==[^ ;\\]+' "$lock" > /tmp/pins.txt
  set -- --quiet --python $venv/bin/python --constraint /tmp/pins.txt
  if [ -n "$(ls -A /wheels 2>/dev/null)" ]; then set -- "$@" --find-links /wheels; fi
  if [ -n "${TORCH_INDEX:-}" ]; then set -- "$@" --index "$TORCH_INDEX"; fi
  $uv pip install "$@" "$torch"
  rm -rf /tmp/pins.txt $venv/lib/python3*/site-packages/torch/test
fi
chmod 0644 $venv/.lock  # uv leaves it open to all
