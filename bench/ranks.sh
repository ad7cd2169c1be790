#!/usr/bin/env bash
# Training in several processes in one go: 1 process with 1 and with 2 threads, 2 processes of 1 thread each, and these two on two hosts
# (network namespaces) whose link has a limited speed and a delay.
# usage: bench/ranks.sh [plugin [words of train...]]    LINKS="1000:0.1 100:5" (Mbit/s:ms one way; needs root; "": none), ROUNDS=3
# Prints of the best of ROUNDS runs: images per second, seconds of the processor per image, and of a step the milliseconds in which sums
# of gradients were under way and in which nothing else was left to do ("not hidden" is the share of the latter).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
host=${BDC_HOST:-$root/build/bin/bdc-host}
plugin=${1:-yolov7}
[ $# -gt 0 ] && shift
words=(train --plugin "$plugin" -q --set train.epochs=2 --set train.evaluate_every=2 --set train.batch_size=16 --set data.workers=1
  --set data.shapes.train_images="${IMAGES:-160}" --set data.shapes.test_images=4 --set train.timeout=120 "$@")
folder=$(mktemp -d)
link=
finish() { [ -z "$link" ] || { exec 7>&-; wait "$link" || true; }; rm -rf "$folder"; }
trap finish EXIT
cd "$folder"

# row NAME: what the run called NAME did in its last epoch, for `table`.
row() {
  python3 - "$1" "$2" "$3" <<'PY' >>rows
import json, sys
name, seconds, label = sys.argv[1:]
records = [json.loads(line) for line in open(f"runs/{name}/metrics.jsonl")]
last = records[-1]
steps = last["step"] / len(records)
print(json.dumps({"label": label, "rate": last["train/images_per_second"], "cpu": float(seconds), "steps": steps,
                  "under": last.get("seconds/sums_under_way"), "waited": last.get("seconds/sums_waited")}))
PY
}
# seconds_of_children COMMAND...: runs it; the processor time of it and its children goes to $cpu.
timed() {
  local before after
  before=$(python3 - "$@" <<'PY'
import os, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
t = os.times()
print(t.children_user + t.children_system)
sys.exit(code)
PY
  )
  cpu=$before
}
for round in $(seq "${ROUNDS:-3}"); do
  for shape in 1x1 1x2 2x1; do
    processes=${shape%x*} threads=${shape#*x}
    timed "$host" "${words[@]}" --processes "$processes" --set train.threads="$threads" --set output.name="$shape-$round"
    row "$shape-$round" "$cpu" "$processes process(es) x $threads thread(s)"
  done
  for of in ${LINKS-1000:0.1 100:1}; do
    mbit=${of%:*} delay=${of#*:} name=bench$$
    mkfifo end
    python3 "$root/bench/link.py" "$name" --mbit "$mbit" --delay "$delay" <end >ready &
    link=$!
    exec 7>end
    rm end
    for _ in $(seq 100); do grep -q ready ready && break; sleep 0.05; done
    export WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.78.0.1 MASTER_PORT=29533 OPENBLAS_NUM_THREADS=1
    RANK=1 ip netns exec "$name-b" "$host" "${words[@]}" --set train.threads=1 --set output.name="link-$of-$round" 7>&- &
    other=$!
    RANK=0 timed ip netns exec "$name-a" "$host" "${words[@]}" --set train.threads=1 --set output.name="link-$of-$round"
    wait "$other"
    unset WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT OPENBLAS_NUM_THREADS
    exec 7>&-
    wait "$link" || true
    link=
    row "link-$of-$round" "$cpu" "2 hosts x 1 thread, $mbit Mbit/s, $delay ms"
  done
done
python3 - <<'PY'
import json
rows = {}
for line in open("rows"):
    row = json.loads(line)
    if row["label"] not in rows or row["rate"] > rows[row["label"]]["rate"]:
        rows[row["label"]] = row
print(f"{'':42}  images/s  cpu s  sums ms/step  waited ms/step  not hidden")
for label, r in rows.items():
    sums = f"{'-':>12}  {'-':>14}  {'-':>10}"
    if r["under"] is not None:
        sums = f"{1000 * r['under'] / r['steps']:12.1f}  {1000 * r['waited'] / r['steps']:14.1f}  {100 * r['waited'] / max(1e-9, r['under']):8.0f} %"
    print(f"{label:42}  {r['rate']:8.1f}  {r['cpu']:5.1f}  {sums}")
PY
