#!/bin/sh
# Throughput of training in several processes, in one go: 1 process with 1 and with 2 threads, 2 processes with 1 thread each.
# usage: bench/ranks.sh [plugin [options of train...]]    prints images per second of the last of three epochs
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
plugin=${1:-yolov7}
[ $# -gt 0 ] && shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
run() {
  name=$1 processes=$2 threads=$3
  shift 3
  "$root/build/bin/bdc-host" train --plugin "$plugin" -q --processes "$processes" --set output.name="$name" --set train.threads="$threads" \
    --set train.epochs=3 --set train.evaluate_every=3 --set train.batch_size=16 --set data.shapes.train_images=160 \
    --set data.shapes.test_images=4 "$@"
  python3 -c "
import json, sys
last = [json.loads(line) for line in open('runs/$name/metrics.jsonl')][-1]
print(f'$processes x $threads: {last[\"train/images_per_second\"]:.1f} images/s')"
}
for round in 1 2 3; do
  run "a$round" 1 1 "$@"
  run "b$round" 1 2 "$@"
  run "c$round" 2 1 "$@"
done
