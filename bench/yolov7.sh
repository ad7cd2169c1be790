#!/usr/bin/env bash
# YOLOv7's speed next to the same network in Python, in turns; the best of each counts.
#   bench/yolov7.sh [VARIANT EDGE BATCH ROUNDS]    default: tiny 320 8 3
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/setup.sh"
install_packages packages.txt packages-engine.txt bench/packages.txt
build_preset release bdc_bench_yolov7 -DBDC_BUILD_BENCH=ON
variant=${1:-tiny} edge=${2:-320} batch=${3:-8} rounds=${4:-3}
threads=$(nproc)
folder=$(mktemp -d)
build/bin/bdc-bench-yolov7 layers "$variant" >"$folder/layers"
for _ in $(seq "$rounds"); do
  build/bin/bdc-bench-yolov7 time "$variant" "$edge" "$batch" "$threads" >>"$folder/ours"
  /usr/bin/python3 bench/yolov7_speed.py "$edge" "$batch" "$threads" <"$folder/layers" >>"$folder/python"
done
printf '%s at %s px, batch %s, %s threads, best of %s: images/s\n' "$variant" "$edge" "$batch" "$threads" "$rounds"
paste -d' ' "$folder/ours" "$folder/python" | awk -v batch="$batch" '
  { for (i = 1; i <= 6; i++) if (!(i in best) || $i < best[i]) best[i] = $i }
  END {
    split("forward and backward,inference,inference with folded norms", what, ",")
    printf "%-30s %8s %8s %8s\n", "", "here", "Python", "ratio"
    for (i = 1; i <= 3; i++)
      printf "%-30s %8.1f %8.1f %8.2f\n", what[i], batch * 1e3 / best[i], batch * 1e3 / best[i + 3], best[i + 3] / best[i]
  }'
rm -rf "$folder"
