#!/usr/bin/env bash
# Runs every fuzz target of a build folder for some seconds each, as many at a time as there are cores:
#   fuzz/run.sh build-fuzz [seconds]
# Fails on a finding; the input that caused it is left as <build>/fuzz/<target>-crash-*.
set -euo pipefail
export folder=$1/fuzz seconds=${2:-60}

run_target() {
  local name corpus dictionary=()
  name=$(basename "$1" _fuzz)
  corpus=$folder/corpus/$name
  mkdir -p "$corpus"
  if [ -f "$folder/seeds/$name.dict" ]; then dictionary=("-dict=$folder/seeds/$name.dict"); fi
  echo "== $name, $seconds s"
  if ! "$1" "$corpus" "$folder/seeds/$name" -max_total_time="$seconds" -timeout=10 -max_len=20000 \
      -artifact_prefix="$folder/$name-" -print_final_stats=0 -verbosity=0 "${dictionary[@]}" > "$folder/$name.log" 2>&1; then
    tail -n 40 "$folder/$name.log"
    echo "fuzz: $name has a finding; see $folder/$name.log" >&2
    return 1
  fi
}
export -f run_target

find "$folder" -maxdepth 1 -type f -name '*_fuzz' | sort | xargs -P "$(nproc)" -I{} bash -c 'set -euo pipefail; run_target "$1"' run_target {}
echo "fuzz: no finding"
