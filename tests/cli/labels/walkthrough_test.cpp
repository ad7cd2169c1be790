// docs/walkthrough.md shows what the program prints: its commands are run in order, and what stands below each must
// be what comes out.

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

struct Shown {
  std::string command, output;
};

/// Commands of bdc-host with the lines below them, up to a step that needs files which are not there.
std::vector<Shown> shown_in(const std::string& text) {
  std::vector<Shown> out;
  std::istringstream lines(text);
  std::string line;
  bool in_block = false, follows = false;
  while (std::getline(lines, line)) {
    if (line.rfind("```", 0) == 0) {
      in_block = !in_block;
      follows = false;
    } else if (in_block && line.rfind("$ ", 0) == 0) {
      follows = line.rfind("$ bdc-host ", 0) == 0;
      if (follows && line.find("next_week") != std::string::npos) break;
      if (follows) out.push_back({line.substr(11), ""});
    } else if (in_block && follows) {
      out.back().output += line + "\n";
    }
  }
  return out;
}

TEST(Walkthrough, EveryCommandPrintsWhatTheDocumentShows) {
  const fs::path root = fs::path(BDC_TEST_DATA) / "..";
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "examples");
  fs::copy(root / "examples/walkthrough", folder.path() / "examples/walkthrough");
  const std::vector<Shown> steps = shown_in(read_file(root / "docs/walkthrough.md"));
  ASSERT_GE(steps.size(), 3u);
  for (const Shown& step : steps) {
    std::vector<std::string> words;
    std::istringstream command(step.command);
    for (std::string word; command >> word;) {
      if (word != "examples/walkthrough/*.xml") {
        words.push_back(word);
        continue;
      }
      std::vector<std::string> files;
      for (const auto& file : fs::directory_iterator(root / "examples/walkthrough")) {
        if (file.path().extension() == ".xml") {
          files.push_back("examples/walkthrough/" + file.path().filename().string());
        }
      }
      std::sort(files.begin(), files.end());
      words.insert(words.end(), files.begin(), files.end());
    }
    const auto outcome = run_host(words, folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << step.command << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, step.output) << step.command << "\nstandard error:\n" << outcome.err;
  }
}

}  // namespace
