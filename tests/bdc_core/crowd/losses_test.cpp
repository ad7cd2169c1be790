// The table of docs/losses.md is made here, from labels that use all that a format can hold. To write it anew after a
// format has changed: BDC_UPDATE_DOCS=1 build/bin/bdc_core_crowd_tests --gtest_filter='Losses.*'
#include "bdc/crowd/losses.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

/// Labels with everything that CrowdData can hold.
CrowdData everything(bool assignments_known) {
  CrowdData data;
  data.images = {{{"1", true}, "a.jpg", 200, 100},  {{"img b", false}, "dir/b.jpg", 64, 48},
                 {{"007", false}, "", 50, 50},      {{"12", false}, "d.jpg", 0, 0},
                 {{"13", true}, "empty.jpg", 9, 9}, {{"14", true}, "unseen.jpg", 9, 9}};
  data.classes = {{{"3", true}, "car"}, {{"t", false}, "tree"}, {{"8", false}, "bus"}, {{"9", true}, "never drawn"}};
  data.annotators = {{{"5", true}, "Ann"}, {{"bob", false}, ""}, {{"77", false}, "Cy"}, {{"6", true}, "Idle"}};
  data.assignments_known = assignments_known;
  const Box box{1, 2, 30.25, 40};
  data.annotations = {{box, 0, 0, 0}, {box, 0, 1, 1}, {box, 1, 2, 2}, {box, 2, 0, 1}, {box, 3, 0, 1}};
  if (assignments_known) data.assignments = {{4, 0}, {1, 1}};
  data.has_truth = true;
  data.truth = {{box, 0, 0, true, 99}, {box, 1, 1, false, box.area()}};
  data.truth_covers = {1, 1, 0, 0, 0, 0};
  data.finalize();
  return data;
}

/// What comes out of each format at most: what it kept of everything, or, of formats that are only read, a file.
std::map<std::string, std::vector<CrowdData>> sources() {
  const std::map<std::string, std::string> read_only = {
      {"sim", "sim/sim.json"},     {"labelme", "labelme"},         {"supervisely", "supervisely/project"},
      {"via", "via/project.json"}, {"sagemaker", "sagemaker/job"}, {"csv", "csv/boxes.csv"}};
  std::map<std::string, std::vector<CrowdData>> out;
  for (const CrowdFormatInfo& format : crowd_formats()) {
    ReadOptions options;
    options.format = format.name;
    if (!format.can_write) {
      const auto file = read_only.find(format.name);
      if (file == read_only.end()) {
        ADD_FAILURE() << "no file of the format " << format.name << "; name one above";
        continue;
      }
      out[format.name].push_back(read_crowd({data_path(file->second)}, options));
      continue;
    }
    for (const bool known : {true, false}) {
      const TemporaryFolder folder;
      static_cast<void>(write_crowd(everything(known), folder / "out", format.name));
      out[format.name].push_back(read_crowd({folder / "out"}, options));
    }
  }
  return out;
}

std::string code_of(std::size_t n) {
  return n < 26 ? std::string(1, static_cast<char>('a' + n)) : "a" + std::string(1, static_cast<char>('a' + n - 26));
}

std::string table() {
  const TemporaryFolder scratch;
  std::map<std::string, std::map<std::string, std::set<std::string>>> lost;  // from, to
  std::set<std::string> all;
  for (const auto& [from, samples] : sources()) {
    for (const CrowdData& data : samples) {
      for (const FormatLosses& row : losses_by_format(data, scratch.path().string())) {
        EXPECT_EQ(row.refused, "") << from << " to " << row.format;
        auto& cell = lost[from][row.format];
        for (const Loss& loss : row.losses) {
          cell.insert(loss.what);
          all.insert(loss.what);
        }
      }
    }
  }
  std::map<std::string, std::string> code;
  for (const std::string& what : all) code[what] = code_of(code.size());
  std::string text =
      "# What `convert` loses\n\nMade by a test from labels that use all that a format can hold (of formats that are "
      "only "
      "read: from a file of\ntests/bdc_core/data); `BDC_UPDATE_DOCS=1 build/bin/bdc_core_crowd_tests "
      "--gtest_filter='Losses.*'` writes it anew. What your own\nlabels would lose, with counts, is told by `bdc-host "
      "convert --losses FILE...`. A dot: nothing is lost.\n\n| from \\ to |";
  std::string line = "|---|";
  for (const auto& [to, cell] : lost.begin()->second) {
    text += " " + to + " |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const auto& [from, row] : lost) {
    text += "| `" + from + "` |";
    for (const auto& [to, cell] : row) {
      std::string codes;
      for (const std::string& what : cell) codes += " " + code[what];
      text += (codes.empty() ? " ." : codes) + " |";
    }
    text += "\n";
  }
  text += "\n";
  for (const auto& [what, letter] : code) text += "- **" + letter + "**: " + what + "\n";
  return text;
}

TEST(Losses, TheDocumentHoldsTheTableThatIsGenerated) {
  const std::string path = std::string(BDC_TEST_DATA) + "/../docs/losses.md";
  const std::string generated = table();
  if (std::getenv("BDC_UPDATE_DOCS") != nullptr) std::ofstream(path) << generated;
  EXPECT_EQ(read_file(path), generated);
}

TEST(Losses, OurOwnFormatLosesNothingAndTheOthersSayWhat) {
  const TemporaryFolder scratch;
  std::map<std::string, FormatLosses> rows;
  for (FormatLosses& row : losses_by_format(everything(true), scratch.path().string())) rows[row.format] = row;
  EXPECT_TRUE(rows.at("crowd").losses.empty());
  EXPECT_FALSE(rows.at("yolo").losses.empty());
  EXPECT_EQ(rows.size(), 10U);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path())) << "nothing is left behind";
  CrowdData twice = everything(true);
  twice.classes[1].name = "car";
  for (const FormatLosses& row : losses_by_format(twice, scratch.path().string())) {
    if (row.format == "cvat") {
      EXPECT_NE(row.refused.find("have the same name \"car\""), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace bdc::test
