#pragma once

#include <string>

namespace bdc {

/// The path of a picture as files of different origin can be compared by it: "/data/upload/3/1f2e3d4c-a%20b.jpg" and
/// "a b.jpg" both become "a b.jpg" in the last part. A drive (C:) and somebody's home folder are left out.
[[nodiscard]] std::string comparable_path(std::string name);

}  // namespace bdc
