#!/usr/bin/env bash
# Fails when a C++ file is not formatted as .clang-format says.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' | xargs -0 -r ls -d 2>/dev/null | xargs -r clang-format --dry-run --Werror
echo "format: ok"
