// Simulated crowds in which most images are empty and people are not shown images by chance.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/run_program.h"

namespace {

using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using nlohmann::json;

struct ScreeningCrowd : testing::Test {
  ScreeningCrowd() {
    json truth = {{"images", json::array()},
                  {"categories", {{{"id", 1}, {"name", "nodule"}}, {{"id", 2}, {"name", "effusion"}}}},
                  {"annotations", json::array()}};
    for (int i = 1; i <= 60; ++i) {
      truth["images"].push_back(
          {{"id", i}, {"file_name", std::to_string(i) + ".png"}, {"width", 400}, {"height", 300}});
      truth["annotations"].push_back({{"id", i},
                                      {"image_id", i},
                                      {"category_id", 1 + i % 2},
                                      {"bbox", {100, 100, 80, 60}},
                                      {"area", 4800},
                                      {"iscrowd", 0}});
    }
    folder.write("truth.json", truth.dump());
  }
  /// Images that each annotator saw.
  [[nodiscard]] std::map<std::string, std::set<int>> seen() const {
    std::map<std::string, std::set<int>> out;
    const json crowd = json::parse(read_file(folder.path() / "crowd.json"));
    for (const json& a : crowd["assignments"]) {
      out[a["annotator_id"].get<std::string>()].insert(a["image_id"].get<int>());
    }
    return out;
  }
  TemporaryFolder folder;
};

TEST_F(ScreeningCrowd, ThePresetAddsEmptyImagesAndShowsSomeAnnotatorsNothingElse) {
  const auto outcome = run_host(
      {"synth", "truth.json", "--preset", "screening", "-o", "crowd.json", "--write-truth", "all.json"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json all = json::parse(read_file(folder.path() / "all.json"));
  EXPECT_EQ(all["images"].size(), 200u);  // 60 of them with objects
  EXPECT_EQ(all["annotations"].size(), 60u);
  const auto who = seen();
  ASSERT_EQ(who.size(), 17u);
  EXPECT_EQ(who.at("average-1"), who.at("average-2"));
  EXPECT_EQ(who.at("average-1"), who.at("average-3"));
  EXPECT_EQ(who.at("average-1").size(), 90u);
  EXPECT_NE(who.at("average-4"), who.at("average-5"));
  for (int k = 11; k <= 17; ++k) {
    const auto& images = who.at("average-" + std::to_string(k));
    EXPECT_EQ(images.size(), 25u);  // 18 % of 140
    EXPECT_GT(*images.begin(), 60) << k << " was shown an image with an object";
  }
  const auto same =
      run_host({"synth", "truth.json", "--preset", "screening", "-o", "again.json", "--threads", "1"}, folder.path());
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(read_file(folder.path() / "crowd.json"), read_file(folder.path() / "again.json"));
}

TEST_F(ScreeningCrowd, GroupsMayBeShownImagesWithObjectsOnly) {
  folder.write("mix.json", R"({"empty_share": 0.5, "groups": [
    {"skill": "expert", "annotators": 2, "shown": "occupied", "coverage": 0.5}, {"skill": "poor"}]})");
  const auto outcome = run_host({"synth", "truth.json", "-c", "mix.json", "-o", "crowd.json"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto who = seen();
  EXPECT_EQ(who.at("poor-1").size(), 120u);
  EXPECT_EQ(who.at("expert-1").size(), 30u);
  EXPECT_LE(*who.at("expert-1").rbegin(), 60);
  EXPECT_NE(who.at("expert-1"), who.at("expert-2"));
}

TEST_F(ScreeningCrowd, WhatCannotBeIsSaid) {
  folder.write("none.json", R"({"groups": [{"skill": "expert", "shown": "empty"}]})");
  const auto none = run_host({"synth", "truth.json", "-c", "none.json", "-o", "crowd.json"}, folder.path());
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_NE(none.err.find("every image has some"), std::string::npos) << none.err;
  folder.write("word.json", R"({"groups": [{"skill": "expert", "shown": "emty"}]})");
  const auto word = run_host({"synth", "truth.json", "-c", "word.json", "-o", "crowd.json"}, folder.path());
  EXPECT_EQ(word.exit_code, 3);
  EXPECT_NE(word.err.find("empty"), std::string::npos) << word.err;
  const auto pictures =
      run_host({"synth", "truth.json", "--preset", "screening", "-o", "crowd.json", "--write-images", "pictures"},
               folder.path());
  EXPECT_EQ(pictures.exit_code, 2);
}

}  // namespace
