#!/bin/sh
# Runs every fuzz target of a build folder for some seconds each: fuzz/run.sh build-fuzz [seconds]. Stops at a finding;
# the input that caused it is left as <build>/fuzz/<target>-crash-*.
set -eu
folder=$1/fuzz
seconds=${2:-60}
for target in "$folder"/*_fuzz; do
  name=$(basename "$target" _fuzz)
  corpus=$folder/corpus/$name
  mkdir -p "$corpus"
  dictionary=
  if [ -f "$folder/seeds/$name.dict" ]; then dictionary=-dict=$folder/seeds/$name.dict; fi
  echo "== $name, $seconds s"
  # $dictionary is empty or one word without blanks of its own
  # shellcheck disable=SC2086
  if ! "$target" "$corpus" "$folder/seeds/$name" -max_total_time="$seconds" -timeout=10 -max_len=20000 \
      -artifact_prefix="$folder/$name-" -print_final_stats=0 -verbosity=0 $dictionary > "$folder/$name.log" 2>&1; then
    tail -n 40 "$folder/$name.log"
    echo "fuzz: $name has a finding; see $folder/$name.log" >&2
    exit 1
  fi
done
echo "fuzz: no finding"
