#pragma once

#include "bdc/base/options.h"

/// Options of detectors and hooks, in the language that everything in bdc speaks. The host checks every value against
/// its spec before the plugin sees it, fills in the defaults, and shows them in `bdc-host plugins info`.
namespace bdc::plugin {

using bdc::bool_option;
using bdc::int_option;
using bdc::number_option;
using bdc::Options;
using bdc::OptionSpec;
using bdc::OptionValue;
using bdc::string_option;

}  // namespace bdc::plugin
