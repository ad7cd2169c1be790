#!/usr/bin/env bash
# Time and peak memory of one training step of a detector.
#   bench/step.sh PLUGIN [options of bdc-step: --input, -o KEY=VALUE, ...]
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/setup.sh"
plugin=${1:?usage: bench/step.sh PLUGIN [options of bdc-step]}
install_packages packages.txt packages-engine.txt
build_preset release bdc_step -DBDC_BUILD_BENCH=ON
build_preset release "$plugin"
exec build/bin/bdc-step "build/plugins/$plugin.so" "${@:2}"
