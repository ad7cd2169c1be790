#pragma once

namespace bdc::host {

/// Parses the command line, runs the verb, reports errors on standard error, and returns the exit code. Never throws.
[[nodiscard]] int run_application(int argc, char** argv);

}  // namespace bdc::host
