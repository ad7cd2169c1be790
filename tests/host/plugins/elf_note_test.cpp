#include <gtest/gtest.h>

#include <random>

#include "bdc/base/user_error.h"
#include "plugins/elf_note.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

std::string example() {
  return test::read_file(BDC_BUILD_FOLDER "/plugins/minimal.so");
}

TEST(ElfNote, TellsNameKindAndFingerprintWithoutLoading) {
  const PluginNote note = read_plugin_note(BDC_BUILD_FOLDER "/plugins/minimal.so");
  EXPECT_EQ(note.name, "minimal");
  EXPECT_TRUE(note.has_detector);
  EXPECT_FALSE(note.has_hook);
  EXPECT_EQ(mismatch(Fingerprint::of_host(), note.fingerprint), "");
}

TEST(ElfNote, AFileCutAnywhereIsRefusedOrReadNeverACrash) {
  const test::TemporaryFolder folder;
  const std::string whole = example();
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{20}, std::size_t{63}, std::size_t{64},
                                 std::size_t{120}, std::size_t{500}}) {
    const auto file = folder.write("cut.so", whole.substr(0, size));
    EXPECT_THROW((void)read_plugin_note(file), UserError) << size;
  }
}

TEST(ElfNote, DamagedBytesAreRefusedOrReadNeverACrash) {
  const test::TemporaryFolder folder;
  const std::string whole = example().substr(0, 4096);
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 4; ++i) bytes[random() % 1200] = static_cast<char>(random());
    const auto file = folder.write("damaged.so", bytes);
    try {
      (void)read_plugin_note(file);
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(PluginName, IsPlain) {
  for (const char* good : {"yolov7", "a", "0x", "my-detector_2"}) EXPECT_TRUE(is_plugin_name(good)) << good;
  for (const char* bad : {"", "A", "-a", "_a", "a b", "a/b", "../a", "ä"}) EXPECT_FALSE(is_plugin_name(bad)) << bad;
  EXPECT_FALSE(is_plugin_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace bdc::host
