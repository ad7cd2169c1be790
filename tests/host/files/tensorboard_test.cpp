#include "files/tensorboard.h"

#include <gtest/gtest.h>

#include "bdc/base/crc32.h"
#include "support/temporary_folder.h"
#include "weights/little_endian.h"

namespace bdc::host {
namespace {

TEST(Crc, BothChecksumsHaveTheirKnownValue) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(TensorBoard, EveryRecordIsFramedWithItsLengthAndMaskedChecksums) {
  const test::TemporaryFolder folder;
  {
    TensorBoardFile file(folder.path());
    file.add(3, {{"loss", 0.5}});
  }
  const auto entry = *std::filesystem::directory_iterator(folder.path());
  const std::string bytes = test::read_file(entry.path());
  const auto masked = [](std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; };
  std::size_t at = 0, records = 0;
  std::string last;
  while (at < bytes.size()) {
    const std::size_t length = little_endian(bytes, at, 8);
    EXPECT_EQ(little_endian(bytes, at + 8, 4), masked(crc32c(bytes.substr(at, 8))));
    last = bytes.substr(at + 12, length);
    EXPECT_EQ(little_endian(bytes, at + 12 + length, 4), masked(crc32c(last)));
    at += 16 + length;
    ++records;
  }
  EXPECT_EQ(at, bytes.size());
  EXPECT_EQ(records, 2U) << "the version, then the scalars";
  EXPECT_EQ(last.substr(9), scalar_event(0, 3, {{"loss", 0.5}}).substr(9)) << "all but the time";
  EXPECT_EQ(last.substr(9), std::string("\x10\x03\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f", 17));
}

}  // namespace
}  // namespace bdc::host
