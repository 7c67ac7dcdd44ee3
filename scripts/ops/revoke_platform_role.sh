#!/usr/bin/env bash
# Ends a person's binding to a platform role. The last superadmin stays.
# Usage: scripts/ops/revoke_platform_role.sh --user ID|EMAIL|ISSUER#SUBJECT --role NAME --reason TEXT --correlation-id ID
# Works with the server's own settings in the environment, beside running servers; the record keeps who ran it and why.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
exec node tools/launch.mjs tools/operate.ts revoke-platform-role "$@"
