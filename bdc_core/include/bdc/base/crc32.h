#pragma once

#include <cstdint>
#include <string_view>

namespace bdc {

/// The checksum of zip files: CRC-32 with the reflected polynomial 0xEDB88320, of "123456789" it is 0xCBF43926.
[[nodiscard]] std::uint32_t crc32(std::string_view bytes);

/// The checksum of TensorBoard's event files: the same with the polynomial 0x82F63B78, of "123456789" it is 0xE3069283.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

}  // namespace bdc
