// The tools for labels, through the front door: aggregate, eval, validate, convert, annotators.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using nlohmann::json;

/// Twelve images with one object each; "ann" and "bob" draw it well, "eve" draws only every second one and far too
/// large. The third image was seen by everybody and shows nothing.
json crowd() {
  json out = {{"images", json::array()},
              {"categories", {{{"id", 1}, {"name", "cat"}}, {{"id", 2}, {"name", "dog"}}}},
              {"annotators", {{{"id", "ann"}}, {{"id", "bob"}}, {{"id", "eve"}}}},
              {"annotations", json::array()},
              {"assignments", json::array()}};
  int id = 1;
  for (int i = 0; i < 12; ++i) {
    out["images"].push_back({{"id", i}, {"file_name", std::to_string(i) + ".png"}, {"width", 200}, {"height", 100}});
    for (const char* who : {"ann", "bob", "eve"})
      out["assignments"].push_back({{"image_id", i}, {"annotator_id", who}});
    if (i == 2) continue;
    const double x = 10.0 + 5 * i, y = 20.0 + 2 * i;
    const int category = 1 + i % 2;
    const auto draw = [&](const char* who, std::vector<double> box, int c) {
      out["annotations"].push_back(
          {{"id", id++}, {"image_id", i}, {"category_id", c}, {"bbox", box}, {"annotator_id", who}});
    };
    draw("ann", {x, y, 40, 30}, category);
    draw("bob", {x + 1, y, 40, 31}, category);
    if (i % 2 == 0) draw("eve", {x - 5, y - 5, 55, 45}, 3 - category);
  }
  return out;
}

json truth() {
  json out = crowd();
  out.erase("annotators");
  out.erase("assignments");
  json boxes = json::array();
  for (auto a : out["annotations"]) {
    if (a["annotator_id"] != "ann") continue;
    a.erase("annotator_id");
    a["area"] = 1200;
    a["iscrowd"] = 0;
    boxes.push_back(a);
  }
  out["annotations"] = boxes;
  return out;
}

struct Labels : testing::Test {
  Labels() {
    folder.write("crowd.json", crowd().dump());
    folder.write("truth.json", truth().dump());
  }
  bdc::test::Outcome host(const std::vector<std::string>& words) const { return run_host(words, folder.path()); }
  [[nodiscard]] json read(const std::string& name) const { return json::parse(read_file(folder.path() / name)); }
  TemporaryFolder folder;
};

TEST_F(Labels, WhatIsReadIsNeverOverwritten) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"aggregate", "crowd.json", "-o", "crowd.json"},
           {"aggregate", "crowd.json", "-o", "same.json", "--annotators", "./same.json"},
           {"convert", "crowd.json", "./crowd.json"}}) {
    const auto before = read("crowd.json");
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(read("crowd.json"), before);
  }
}

TEST_F(Labels, AggregateWritesAConsensusWithUncertaintyAndTheAnnotatorsQuality) {
  const auto outcome = host({"aggregate", "crowd.json", "-o", "out.json", "--annotators", "who.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("12 images, 3 annotators, 27 annotations"), std::string::npos) << outcome.out;
  EXPECT_LT(outcome.out.find("\neve"), outcome.out.size());
  EXPECT_GT(outcome.out.find("\neve"), outcome.out.find("\nann"));
  const auto consensus = read("out.json");
  for (const auto& target : consensus["annotations"]) {
    for (const char* key : {"score", "class_probs", "weight", "existence", "box_std"})
      EXPECT_TRUE(target.contains(key)) << key;
    double sum = 0;
    for (const double p : target["class_probs"]) sum += p;
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_NE(target["image_id"], 2) << "nobody drew anything there";
  }
  EXPECT_EQ(read("who.json")["format"], "bdc_annotators");
}

TEST_F(Labels, TheConsensusCanBeJudgedAndIsGoodHere) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-o", "out.json", "-q"}).exit_code, 0);
  const auto outcome = host({"eval", "out.json", "truth.json", "--json", "--per-class"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto result = json::parse(outcome.out);
  EXPECT_GT(result["AP50"].get<double>(), 0.99);
  EXPECT_EQ(result["classes"].size(), 2u);
  EXPECT_NE(host({"eval", "out.json", "truth.json"}).out.find("AP50"), std::string::npos);
}

TEST_F(Labels, EveryMethodRunsAndTheTableComparesThem) {
  const auto outcome = host({"aggregate", "crowd.json", "--method", "all", "--truth", "truth.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* row : {"na ", "mv union", "mv intersect", "mv average", "mv majority", "wbf", "earl", "nms",
                          "soft_nms", "nmw", "bdc absence_aware", "bdc reference", "bdc paper"}) {
    EXPECT_NE(outcome.out.find(std::string("\n") + row), std::string::npos) << row << "\n" << outcome.out;
  }
}

TEST_F(Labels, TruthNeverChangesTheConsensus) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-o", "blind.json", "-q"}).exit_code, 0);
  ASSERT_EQ(host({"aggregate", "crowd.json", "-o", "seeing.json", "-q", "--truth", "truth.json"}).exit_code, 0);
  EXPECT_EQ(read_file(folder.path() / "blind.json"), read_file(folder.path() / "seeing.json"));
}

TEST_F(Labels, TheNumberOfThreadsDoesNotChangeABit) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-o", "one.json", "-q", "--threads", "1"}).exit_code, 0);
  ASSERT_EQ(host({"aggregate", "crowd.json", "-o", "two.json", "-q", "--threads", "2"}).exit_code, 0);
  EXPECT_EQ(read_file(folder.path() / "one.json"), read_file(folder.path() / "two.json"));
}

TEST_F(Labels, AnnotatorsAreShownMergedAndUsedAsAPrior) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-q", "--annotators", "a.json"}).exit_code, 0);
  const auto merged = host({"annotators", "a.json", "a.json", "--merge", "both.json"});
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_NE(merged.out.find("quality"), std::string::npos);
  EXPECT_NE(merged.out.find("eve"), std::string::npos);
  const auto again = host({"aggregate", "crowd.json", "-q", "--prior", "both.json", "-o", "again.json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

TEST_F(Labels, ConvertSaysWhatIsLostAndBringsTheRestBack) {
  const auto there = host({"convert", "crowd.json", "labels.csv"});
  ASSERT_EQ(there.exit_code, 0) << there.err;
  EXPECT_NE(there.err.find("cannot hold"), std::string::npos) << there.err;
  const auto back = host({"convert", "labels.csv", "back.json", "--to", "crowd"});
  ASSERT_EQ(back.exit_code, 0) << back.err;
  EXPECT_EQ(read("back.json")["annotations"].size(), 27u);
  EXPECT_EQ(read("back.json")["assignments"].size(), 36u) << "an image somebody saw and left empty is kept";
}

TEST_F(Labels, ValidateFindsNamesAndMendsWhatIsWrong) {
  json broken = crowd();
  broken["annotations"][0]["bbox"] = {190, 90, 40, 30};
  broken["annotations"][1]["bbox"] = {10, 10, 0, 30};
  broken["annotations"][2]["category_id"] = 9;
  folder.write("broken.json", broken.dump(1));
  const auto found = host({"validate", "broken.json"});
  EXPECT_EQ(found.exit_code, 4) << found.out;
  for (const char* text :
       {"broken.json:", "annotations[1]", "annotations[2]", "unknown_class", "empty_box", "box_leaves_image"}) {
    EXPECT_NE(found.out.find(text), std::string::npos) << text << "\n" << found.out;
  }
  const auto fixed = host({"validate", "broken.json", "--fix", "fixed.json"});
  EXPECT_EQ(fixed.exit_code, 0) << fixed.err;
  EXPECT_EQ(host({"validate", "fixed.json"}).exit_code, 0);
  EXPECT_EQ(read("fixed.json")["annotations"].size(), 25u);
}

TEST_F(Labels, MistakesOnTheCommandLineAreNamed) {
  const auto says = [&](const std::vector<std::string>& words, int code, const std::string& text) {
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  };
  says({"aggregate", "gone.json"}, 4, "gone.json");
  says({"aggregate", "truth.json"}, 0, "most images were seen by one annotator only");
  says({"aggregate", "crowd.json", "--method", "bcd"}, 2, "bdc");
  says({"aggregate", "crowd.json", "--option", "profile=papr"}, 2, "paper");
  says({"aggregate", "crowd.json", "--option", "profile"}, 2, "NAME=VALUE");
  says({"aggregate", "crowd.json", "--method", "all"}, 2, "--truth");
  says({"aggregate", "crowd.json", "--method", "mv", "--annotators", "x.json"}, 2, "learns nothing of annotators");
  says({"aggregate"}, 2, "no labels");
  says({"eval", "crowd.json", "gone.json"}, 4, "gone.json");
  says({"annotators", "crowd.json"}, 4, "crowd.json");
  says({"convert", "crowd.json", "out.json", "--to", "pdf"}, 2, "pdf");
  says({"convert", "crowd.json", "out.pdf"}, 2, "--to");
  says({"convert", "crowd.json", "out.json", "--from", "nonsense"}, 2, "nonsense");
  says({"validate", "crowd.json", "--format", "nonsense"}, 2, "nonsense");
  says({"validate", "crowd.json", "--fix", "folder"}, 2, "--fix writes a .json");
  EXPECT_FALSE(fs::exists(folder.path() / "out.json"));
  EXPECT_FALSE(fs::exists(folder.path() / "x.json"));
}

TEST_F(Labels, AFileThatBreaksOffIsNotMended) {
  const std::string whole = crowd().dump();
  const std::string cut = whole.substr(0, whole.size() / 2);
  folder.write("cut.json", cut);
  EXPECT_EQ(host({"validate", "cut.json", "--fix", "cut.json"}).exit_code, 4);
  EXPECT_EQ(read_file(folder.path() / "cut.json"), cut);
  EXPECT_EQ(host({"validate", "cut.json", "--fix", "out.json"}).exit_code, 4);
  EXPECT_FALSE(fs::exists(folder.path() / "out.json"));
}

TEST_F(Labels, NothingToAggregateIsAnError) {
  folder.write("none.json", R"({"images": [], "categories": [], "annotators": [{"id": 1}], "annotations": []})");
  EXPECT_EQ(host({"validate", "none.json"}).exit_code, 4);
  EXPECT_EQ(host({"aggregate", "none.json", "-o", "out.json"}).exit_code, 4);
  EXPECT_FALSE(fs::exists(folder.path() / "out.json"));
}

TEST_F(Labels, EvalNamesTheLimitsAndThresholdsItUsed) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-o", "consensus.json"}).exit_code, 0);
  const auto table = host({"eval", "consensus.json", "truth.json", "--max-dets", "5", "--iou", "0.4", "0.6"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("AR5"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("mean over IoU 0.4, 0.6"), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find("AR100"), std::string::npos) << table.out;
  const auto judged = json::parse(host({"eval", "consensus.json", "truth.json", "--max-dets", "5", "--json"}).out);
  EXPECT_TRUE(judged.contains("AR5") && !judged.contains("AR1") && !judged.contains("AR10")) << judged;
}

TEST_F(Labels, ABrokenInputLeavesNoOutput) {
  const std::string whole = crowd().dump();
  folder.write("cut.json", whole.substr(0, whole.size() / 2));
  const auto outcome = host({"aggregate", "cut.json", "-o", "out.json", "--annotators", "a.json"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("cut.json"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder.path() / "out.json"));
  EXPECT_FALSE(fs::exists(folder.path() / "a.json"));
}

TEST_F(Labels, AnOutputThatCannotBeWrittenIsAClearError) {
  const auto outcome = host({"aggregate", "crowd.json", "-o", "no/such/folder/out.json"});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("no/such/folder/out.json"), std::string::npos) << outcome.err;
}

}  // namespace
