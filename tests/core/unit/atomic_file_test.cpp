#include "bdc/core/io/atomic_file.h"

#include <system_error>

#include "core/unit/io_support.h"

namespace {

namespace fs = std::filesystem;
using bdc::AtomicFile;
using bdc::AtomicFolder;
using bdc::test::read_text;
using bdc::test::TempFolder;

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, AppearsWithCommitAndReplacesTheOldOne) {
  const TempFolder folder;
  folder.write("a.txt", "old");
  AtomicFile file(folder / "a.txt");
  file.stream() << std::string(1 << 20, 'x');
  file.stream().flush();
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  file.commit();
  EXPECT_EQ(read_text(folder / "a.txt").size(), std::size_t{1} << 20);
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TempFolder folder;
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
  const TempFolder folder;
  folder.write("a.txt", "old");
  {
    AtomicFile file(folder / "a.txt");
    file.stream() << "new";
    file.stream().setstate(std::ios::badbit);
    EXPECT_THROW(file.commit(), std::system_error);
  }
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFolder, AppearsWithCommitOnly) {
  const TempFolder folder;
  {
    const AtomicFolder out(folder / "out");
    std::ofstream(out.path() + "/x.txt") << "x";
  }
  EXPECT_EQ(entries(folder.path()), 0U);
  AtomicFolder out(folder / "out/");
  std::ofstream(out.path() + "/x.txt") << "x";
  EXPECT_FALSE(fs::exists(folder / "out"));
  out.commit();
  EXPECT_EQ(read_text(folder / "out/x.txt"), "x");
}

TEST(AtomicFolder, NeverOverwritesAFolderWithFiles) {
  const TempFolder folder;
  folder.write("out/keep.txt", "keep");
  EXPECT_NE(bdc::test::error_of([&] { AtomicFolder out(folder / "out"); }).find("exists already"), std::string::npos);
  EXPECT_EQ(read_text(folder / "out/keep.txt"), "keep");
}

}  // namespace
