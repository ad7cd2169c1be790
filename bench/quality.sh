#!/usr/bin/env bash
# How good the labels are: the tables of docs/method.md.
#   bench/quality.sh [options of bdc-quality: --presets, --seeds, --images, --methods, --rounds, --crowd, --truth]
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/setup.sh"
install_packages packages.txt
build_preset labels bdc_quality -DBDC_BUILD_BENCH=ON
exec build-labels/bin/bdc-quality "$@"
