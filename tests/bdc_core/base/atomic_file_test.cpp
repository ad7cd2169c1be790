#include "bdc/base/atomic_file.h"

#include <system_error>

#include "bdc_core/crowd/io_support.h"
#include "support/temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using bdc::AtomicFile;
using bdc::AtomicFolder;
using bdc::test::read_file;
using bdc::test::TemporaryFolder;

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, AppearsWithCommitAndReplacesTheOldOne) {
  const TemporaryFolder folder;
  folder.write("a.txt", "old");
  AtomicFile file(folder / "a.txt");
  file.stream() << std::string(1 << 20, 'x');
  file.stream().flush();
  EXPECT_EQ(read_file(folder / "a.txt"), "old");
  file.commit();
  EXPECT_EQ(read_file(folder / "a.txt").size(), std::size_t{1} << 20);
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "a.txt");
    file.stream() << "half";
  }
  EXPECT_EQ(entries(folder.path()), 0U);
}

TEST(AtomicFile, AMissingFolderIsNamed) {
  try {
    AtomicFile file("/nonexistent/folder/a.txt");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/folder/a.txt"), std::string::npos);
  }
}

TEST(AtomicFile, AFailedStreamIsAnErrorAndLeavesTheOldFile) {
  const TemporaryFolder folder;
  folder.write("a.txt", "old");
  {
    AtomicFile file(folder / "a.txt");
    file.stream() << "new";
    file.stream().setstate(std::ios::badbit);
    EXPECT_THROW(file.commit(), std::system_error);
  }
  EXPECT_EQ(read_file(folder / "a.txt"), "old");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFolder, AppearsWithCommitOnly) {
  const TemporaryFolder folder;
  {
    const AtomicFolder out(folder / "out");
    std::ofstream(out.path() + "/x.txt") << "x";
  }
  EXPECT_EQ(entries(folder.path()), 0U);
  AtomicFolder out(folder / "out/");
  std::ofstream(out.path() + "/x.txt") << "x";
  EXPECT_FALSE(fs::exists(folder / "out"));
  out.commit();
  EXPECT_EQ(read_file(folder / "out/x.txt"), "x");
}

TEST(AtomicFolder, NeverOverwritesAFolderWithFiles) {
  const TemporaryFolder folder;
  folder.write("out/keep.txt", "keep");
  EXPECT_NE(bdc::test::error_of([&] { AtomicFolder out(folder / "out"); }).find("exists already"), std::string::npos);
  EXPECT_EQ(read_file(folder / "out/keep.txt"), "keep");
}

TEST(AtomicFile, LinksStayLinksAndPermissionsStay) {
  const bdc::test::TemporaryFolder folder;
  const std::string file = folder.write("real.txt", "old");
  std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto link = folder.path() / "link.txt";
  std::filesystem::create_symlink("real.txt", link);
  bdc::AtomicFile out(link.string());
  out.stream() << "new";
  out.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(bdc::test::read_file(file), "new");
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(AtomicFile, ADeviceIsWrittenNotReplaced) {
  bdc::AtomicFile nowhere("/dev/null");
  nowhere.stream() << "gone";
  EXPECT_NO_THROW(nowhere.commit());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  bdc::AtomicFile full("/dev/full");
  full.stream() << "too much";
  EXPECT_THROW(full.commit(), std::system_error);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
