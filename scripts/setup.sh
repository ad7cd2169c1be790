# shellcheck shell=bash
# Functions that ./run and the scripts in scripts/ and bench/ share: what is missing is installed, configured and built.
# To be sourced; leaves the shell in the project's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }

# listed FILE...: the packages named in them. A line "name @13" counts on Debian 13 alone; "a|b": either will do.
listed() {
  local version
  version=$(. /etc/os-release && echo "${VERSION_ID:-}")
  sed 's/#.*//' "$@" | awk -v here="@$version" 'NF == 1 || $2 == here { printf "%s ", $1 }'
}

# install_packages FILE...: what these lists name, where it is missing.
install_packages() {
  local missing=() names name as_root=()
  for names in $(listed "$@"); do
    for name in ${names//|/ }; do
      if dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q '^install ok installed'; then continue 2; fi
    done
    missing+=("${names%%|*}")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "run: these packages are missing and there is no sudo to install them: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# build_preset PRESET TARGET [cmake options]: configures the preset's folder when it is new or options are given, then
# builds the target. A new folder is without tests unless the options say otherwise. The folder's name is in $build_folder.
build_preset() {
  local preset=$1 target=$2 log
  shift 2
  build_folder=build
  [ "$preset" = release ] || build_folder=build-$preset
  if [ ! -f "$build_folder/build.ninja" ]; then set -- -DBDC_BUILD_TESTS=OFF "$@"; fi
  if [ $# -gt 0 ]; then
    say "configuring $build_folder"
    log=$(mktemp)
    if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
      cat "$log" >&2
      rm -f "$log"
      exit 1
    fi
    rm -f "$log"
  fi
  say "building $build_folder"
  cmake --build "$build_folder" --target "$target"
}
