#!/usr/bin/env bash
# Fails when a test source is not part of the build in folder $1.
set -euo pipefail
cd "$(dirname "$0")/.."
missing=0
for file in $(git ls-files --cached --others --exclude-standard -- 'tests/*_test.cpp'); do
  [ -f "$file" ] || continue
  grep -q "/$file\"" "$1/compile_commands.json" || { echo "not in the build: $file" >&2; missing=1; }
done
[ $missing -eq 0 ] || exit 1
echo "every test file is built: ok"
