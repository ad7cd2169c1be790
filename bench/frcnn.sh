#!/usr/bin/env bash
# Faster R-CNN's speed and memory next to torchvision's, in turns, and Crowd R-CNN with many annotators. The best of each
# counts, and the largest peak.
#   bench/frcnn.sh [EDGE ROUNDS REPEATS]    default: 320 3 3
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/setup.sh"
install_packages packages.txt packages-engine.txt bench/packages.txt
build_preset release bdc_frcnn_bench -DBDC_BUILD_BENCH=ON
edge=${1:-320} rounds=${2:-3} repeats=${3:-3}
threads=$(nproc)
lines=$(mktemp)
for _ in $(seq "$rounds"); do
  for what in train predict; do
    build/bin/bdc-frcnn-bench "$what" --size "$edge" --threads "$threads" --repeat "$repeats" >>"$lines"
    /usr/bin/python3 bench/frcnn_torchvision.py "$what" "$edge" "$threads" "$repeats" >>"$lines"
  done
  build/bin/bdc-frcnn-bench unfolded --size "$edge" --threads "$threads" --repeat "$repeats" >>"$lines"
done
printf 'ResNet-50 at %s px, two images, %s threads, best of %s rounds of %s\n' "$edge" "$threads" "$rounds" "$repeats"
# Lines: who what edge "wall" s "processor" s "peak" MB "MB" "value" v
awk '
  { key = $1 " " $2; if (!(key in wall) || $5 < wall[key]) wall[key] = $5
    if (!(key in spent) || $7 < spent[key]) spent[key] = $7
    if ($9 > peak[key]) peak[key] = $9
    value[key] = $12 }
  function row(title, mine, other) {
    mine = "ours " mine; other = "torchvision " other
    printf "%-28s %7.3f %7.3f %6.2f   %7.3f %7.3f %6.2f   %6d %6d %6.2f   %s %s\n", title, wall[mine], wall[other],
      wall[mine] / wall[other], spent[mine], spent[other], spent[mine] / spent[other], peak[mine], peak[other],
      peak[mine] / peak[other], value[mine], value[other] }
  END {
    printf "%-28s %7s %7s %6s   %7s %7s %6s   %6s %6s %6s   %s\n", "ours, torchvision, ratio", "wall s", "", "",
      "proc. s", "", "", "MB", "", "", "loss or best score"
    row("training step", "train", "train")
    row("prediction", "predict", "predict")
    row("prediction, norms unfolded", "unfolded", "predict") }' "$lines"
rm -f "$lines"
build/bin/bdc-frcnn-bench crowd --threads "$threads" --repeat "$repeats"
