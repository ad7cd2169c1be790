// Archives of torch.save: what a hostile one says about sizes and places is checked before it is believed.

#include "weights/zip_file.h"

#include <gtest/gtest.h>

#include "bdc/base/crc32.h"
#include "bdc/base/user_error.h"
#include "support/zip_writer.h"

namespace bdc::host {
namespace {

using test::zip_archive;
using test::ZipMember;

ZipFile opened(std::string bytes) {
  return ZipFile(ByteSource::memory(std::move(bytes), "x.pt"));
}

void expect_refused(const std::string& bytes, const std::string& reason) {
  try {
    const ZipFile zip = opened(bytes);
    for (const auto& entry : zip.entries()) (void)zip.read(entry);
    ADD_FAILURE() << "accepted; expected: " << reason;
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::data);
    EXPECT_EQ(std::string(e.what()).find("x.pt: "), 0u);
    EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what() << "\nexpected: " << reason;
  }
}

TEST(Crc32, EqualsTheDefinitionForEveryLengthAroundAGroup) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926u);
  std::string bytes;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(crc32(bytes), test::slow_crc32(bytes)) << i;
    bytes += static_cast<char>(i * 37 + 200);
  }
}

TEST(ZipFile, GivesEveryFileInNarrowAndWideArchives) {
  for (const bool zip64 : {false, true}) {
    const ZipFile zip = opened(zip_archive({{"a/data.pkl", "hello"}, {"a/empty", ""}, {"a/data/0", "xyz"}}, zip64));
    ASSERT_EQ(zip.entries().size(), 3u);
    EXPECT_EQ(zip.read(*zip.find("a/data.pkl")), "hello");
    EXPECT_EQ(zip.read(*zip.find("a/empty")), "");
    EXPECT_EQ(zip.read(*zip.find("a/data/0")), "xyz");
    EXPECT_EQ(zip.find("a/data/1"), nullptr);
  }
  EXPECT_TRUE(opened(zip_archive({})).entries().empty());
}

TEST(ZipFile, RefusesBombs) {
  ZipMember deflated{"a/data.pkl", std::string(100, 'x')};
  deflated.method = 8;
  deflated.size = std::uint64_t{1} << 40;
  for (const bool zip64 : {false, true}) expect_refused(zip_archive({deflated}, zip64), "is compressed (method 8");
  ZipMember lies{"a/data.pkl", std::string(100, 'x')};
  lies.size = 1'000'000'000;
  expect_refused(zip_archive({lies}), "is stored, yet is said to have 100 and 1000000000 bytes");
  lies.packed_size = lies.size;
  expect_refused(zip_archive({lies}), "lies outside of the archive");
  lies.size = lies.packed_size = ~std::uint64_t{0};
  expect_refused(zip_archive({lies}, true), "lies outside of the archive");
}

TEST(ZipFile, RefusesFilesThatShareBytes) {
  ZipMember twice{"a/two", "hello"};
  twice.header_at = 0;
  twice.local_name = "a/two";
  expect_refused(zip_archive({{"a/two", "hello"}, twice}), "holds two files 'a/two'");
  // The header of 'b' stands inside the bytes of 'a'.
  const std::string inner = zip_archive({{"b", "1234"}}).substr(0, 30 + 1 + 8 + 4);
  ZipMember inside{"b", "1234"};
  inside.header_at = 30 + 1 + 8;
  expect_refused(zip_archive({{"a", inner}, inside}), "overlap");
}

TEST(ZipFile, RefusesWhatContradictsItself) {
  ZipMember member{"a/data.pkl", "hello"};
  member.flags = 1;
  expect_refused(zip_archive({member}), "is encrypted");
  member.flags = 0;
  member.header_at = 1'000'000;
  expect_refused(zip_archive({member}), "lies outside of the archive");
  member.header_at = 3;
  expect_refused(zip_archive({member}), "the directory and the header before its bytes differ");
  member.header_at = {};
  member.local_name = "a/data.pkX";
  expect_refused(zip_archive({member}), "the directory and the header before its bytes differ");
  member.local_name = {};
  member.crc = 7;
  expect_refused(zip_archive({member}), "wrong checksum");
  const ZipMember good{"a/data.pkl", "hello"};
  expect_refused(zip_archive({good}, false, 2), "at most 200000 files");
  expect_refused(zip_archive({good}, false, 0), "bytes that belong to no file");
  expect_refused(zip_archive({good}, true, std::uint64_t{1} << 60), "at most 200000 files");
  expect_refused("x" + zip_archive({good}), "is not where it ends");
  expect_refused("", "no zip directory");
  expect_refused("PK\5\6", "no zip directory");
  expect_refused(std::string(100'000, 'P'), "no zip directory");
}

TEST(ZipFile, RefusesEveryTruncation) {
  for (const bool zip64 : {false, true}) {
    const std::string whole = zip_archive({{"a/data.pkl", "hello"}, {"a/data/0", "xyz"}}, zip64);
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_THROW((void)opened(whole.substr(0, n)), UserError) << n;
  }
}

TEST(ZipFile, AFlippedBitIsRefusedOrChangesNothing) {
  for (const bool zip64 : {false, true}) {
    const std::string whole = zip_archive({{"a/data.pkl", "hello"}, {"a/data/0", "xyz"}}, zip64);
    int refused = 0;
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
      std::string broken = whole;
      broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
      try {
        const ZipFile zip = opened(broken);
        ASSERT_EQ(zip.entries().size(), 2u) << bit;
        EXPECT_EQ(zip.read(zip.entries()[0]), "hello") << bit;
        EXPECT_EQ(zip.read(zip.entries()[1]), "xyz") << bit;
      } catch (const UserError&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 500);
  }
}

TEST(ByteSource, OnlyRegularFilesAreOpened) {
  EXPECT_THROW((void)ByteSource::open("/no/such/file"), UserError);
  EXPECT_THROW((void)ByteSource::open("/"), UserError);
  EXPECT_THROW((void)ByteSource::open("/dev/zero"), UserError);
}

}  // namespace
}  // namespace bdc::host
