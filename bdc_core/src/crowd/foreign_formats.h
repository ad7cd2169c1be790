#pragma once

#include <string>
#include <string_view>

namespace bdc {

/// What a file that no reader accepts seems to be, and what to do with it: "a VoTT project; export it from VoTT as
/// ...". Empty when it looks like nothing known. Looks at the name and at the first 64 KiB.
[[nodiscard]] std::string foreign_format(const std::string& path);

/// Whether a file's name ends as a picture's does.
[[nodiscard]] bool is_picture_name(std::string_view name);

}  // namespace bdc
