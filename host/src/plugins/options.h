#pragma once

#include <string>
#include <vector>

#include "bdc/plugin/options.h"
#include "files/json_file.h"

namespace bdc::host {

/// Checks `given` (a JSON object) against a schema and fills in defaults. `where` is put before messages, e.g.
/// "train.json: plugin.options". Throws UserError (exit 3): unknown name (with the nearest one), wrong type, out of
/// range.
[[nodiscard]] plugin::Options check_options(const std::vector<plugin::OptionSpec>& schema, const Json& given,
                                            const std::string& where);

/// The same for one value. `where` names it in messages.
[[nodiscard]] plugin::OptionValue check_option(const plugin::OptionSpec& spec, const Json& given,
                                               const std::string& where);

[[nodiscard]] Json to_json(const plugin::OptionValue& value);
[[nodiscard]] Json to_json(const plugin::Options& options);

}  // namespace bdc::host
