#!/usr/bin/env bash
# Fails when a C++ file is not formatted as .clang-format says. Versions of clang-format differ in details, so another
# than Debian 12's checks nothing and says so.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(clang-format --version | sed -n 's/.*version \([0-9]*\).*/\1/p')
if [ "$version" != 14 ]; then
  echo "format: not checked, this is clang-format $version and the project is formatted by 14"
  exit 0
fi
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' | xargs -0 -r ls -d 2>/dev/null | xargs -r clang-format --dry-run --Werror
echo "format: ok"
