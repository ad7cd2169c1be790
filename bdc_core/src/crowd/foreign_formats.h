#pragma once

#include <string>

namespace bdc {

/// What a file that no reader accepts seems to be, and what to do with it: "a VoTT project; export it from VoTT as
/// ...". Empty when it looks like nothing known. Looks at the name and at the first 64 KiB.
[[nodiscard]] std::string foreign_format(const std::string& path);

}  // namespace bdc
