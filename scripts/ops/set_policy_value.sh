#!/usr/bin/env bash
# Sets a policy of the platform where nobody may or can: a value that is missing or unreadable, a limit that shuts everybody out.
# Usage: scripts/ops/set_policy_value.sh --key KEY --value JSON --reason TEXT --correlation-id ID
# Works with the server's own settings in the environment, beside running servers; the record keeps who ran it and why.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
exec node tools/launch.mjs tools/operate.ts set-policy-value "$@"
