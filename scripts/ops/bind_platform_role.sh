#!/usr/bin/env bash
# Binds a person to a platform role: the way to the first superadmin, and in when nobody can sign in who may.
# Usage: scripts/ops/bind_platform_role.sh --user ID|EMAIL|ISSUER#SUBJECT --role NAME --reason TEXT --correlation-id ID
# Works with the server's own settings in the environment, beside running servers; the record keeps who ran it and why.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
exec node tools/launch.mjs tools/operate.ts bind-platform-role "$@"
