#!/usr/bin/env bash
# Fails when bdc_core uses LibTorch or OpenCV, or when a public header of it shows nlohmann/json or pugixml.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=$(grep -rnE '#include *[<"](torch|ATen|c10|caffe2|opencv2|opencv4)[/.]' bdc_core || true)
bad+=$(grep -rnE '#include *[<"](nlohmann|pugixml)' bdc_core/include || true)
if [ -n "$bad" ]; then
  echo "bdc_core must not use these headers:" >&2
  echo "$bad" >&2
  exit 1
fi
echo "layers: ok"
