// The tools for labels, through the front door: aggregate, eval, validate, convert, annotators.

#include <gtest/gtest.h>
#include <sys/stat.h>

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
  for (const char* row :
       {"na ", "mv union", "mv intersect", "mv average", "mv majority", "wbf", "wbf-earl", "nms", "soft_nms", "nmw",
        "laem union", "laem average", "em-wbf", "bdc absence_aware", "bdc reference", "bdc paper", "crowd_rcnn"}) {
    EXPECT_NE(outcome.out.find(std::string("\n") + row), std::string::npos) << row << "\n" << outcome.out;
  }
}

TEST_F(Labels, CrowdRcnnIsAMethodLikeAnyOther) {
  const auto outcome =
      host({"aggregate", "crowd.json", "--method", "crowd_rcnn", "-o", "out.json", "--annotators", "a.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("converged"), std::string::npos) << outcome.out;
  EXPECT_EQ(read("a.json")["profile"], "crowd_rcnn");
  const auto judged = host({"eval", "out.json", "truth.json", "--json"});
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_GT(json::parse(judged.out)["AP50"].get<double>(), 0.9);
  const auto again = host({"aggregate", "crowd.json", "-m", "crowd_rcnn", "-q", "--prior", "a.json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  const auto other = host({"aggregate", "crowd.json", "-q", "--prior", "a.json"});
  EXPECT_EQ(other.exit_code, 4) << other.err;
  EXPECT_NE(other.err.find("expected \"absence_aware\""), std::string::npos) << other.err;
  const auto list = host({"aggregate", "--methods"});
  for (const char* text : {"\ncrowd_rcnn: ", "    detector_iou=0.5", "\nbdc profile=paper: ", "(0 .. 1)"}) {
    EXPECT_NE(list.out.find(text), std::string::npos) << text << "\n" << list.out;
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

TEST_F(Labels, MendingInPlaceNeverTurnsOneThingIntoAnother) {
  const auto whole = [&](const char* name) { return bdc::test::read_file(folder.path() / name); };
  const std::string truth = whole("truth.json"), labels = whole("crowd.json");
  EXPECT_EQ(host({"validate", "crowd.json", "truth.json", "--fix", "truth.json"}).exit_code, 2) << "a merge of both";
  const auto alone = host({"validate", "truth.json", "--fix", "truth.json"});
  EXPECT_EQ(alone.exit_code, 2) << alone.err;
  EXPECT_NE(alone.err.find("names no annotators"), std::string::npos) << alone.err;
  EXPECT_EQ(whole("truth.json"), truth);
  EXPECT_EQ(whole("crowd.json"), labels);
  EXPECT_EQ(host({"validate", "crowd.json", "--fix", "crowd.json"}).exit_code, 0);
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
  says({"aggregate", "crowd.json", "--option", "profile"}, 2, "KEY=VALUE");
  says({"aggregate", "crowd.json", "--method", "all"}, 2, "--truth");
  says({"aggregate", "crowd.json", "--method", "mv", "--annotators", "x.json"}, 2, "learns nothing about annotators");
  says({"aggregate"}, 2, "no labels");
  says({"aggregate", "crowd.json", "--option", "max_rounds="}, 2, "KEY=VALUE");
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

TEST_F(Labels, NumbersOutOfRangeAreUsageErrors) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-q", "-o", "c.json", "--annotators", "a.json"}).exit_code, 0);
  const std::vector<std::vector<std::string>> all = {
      {"annotators", "a.json", "--ends", "-1"},
      {"annotators", "a.json", "--ends", "0"},
      {"annotators", "a.json", "--ends", "2.5"},
      {"validate", "crowd.json", "--examples", "-1"},
      {"eval", "c.json", "truth.json", "--iou", "0"},
      {"eval", "c.json", "truth.json", "--iou", "nan"},
      {"eval", "c.json", "truth.json", "--iou", "50"},
      {"eval", "c.json", "truth.json", "--max-dets", "0"},
      {"eval", "c.json", "truth.json", "--max-dets", "1", "2", "3", "4"},
      {"eval", "c.json", "truth.json", "--threads", "-1"},
      {"aggregate", "crowd.json", "--threads", "-1"},
      {"aggregate", "crowd.json", "--threads", "100000"},
      {"aggregate", "crowd.json", "--option", "max_rounds=0"},
      {"aggregate", "crowd.json", "--option", "tolerance=-1"},
      {"aggregate", "crowd.json", "--option", "min_existence=2"},
  };
  for (const auto& words : all) {
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, 2) << words[1] << " " << words[words.size() - 2] << " " << words.back() << ": "
                                    << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(Labels, AnAnnotatorWhoseImagesNobodyElseSawHasSeenThem) {
  json alone = crowd();
  alone["annotators"] = {{{"id", "ann"}}};
  for (const char* list : {"annotations", "assignments"}) {
    json kept = json::array();
    for (const auto& record : alone[list]) {
      if (record["annotator_id"] == "ann") kept.push_back(record);
    }
    alone[list] = kept;
  }
  folder.write("alone.json", alone.dump());
  const auto outcome = host({"aggregate", "alone.json", "--annotators", "a.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("saw no image"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\nann            12     11"), std::string::npos) << outcome.out;
  const json ann = read("a.json")["annotators"][0];
  EXPECT_EQ(ann["images"], 12);
  EXPECT_EQ(ann["annotations"], 11);
  EXPECT_EQ(ann["existence"]["images"], 0) << "nothing there tells objects from inventions";
  EXPECT_NE(host({"annotators", "a.json"}).out.find("\nann            12     11"), std::string::npos);
}

TEST_F(Labels, ACrowdForcedToBePlainCocoIsRefused) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"aggregate", "crowd.json", "--format", "coco"}, {"convert", "crowd.json", "x.json", "--from", "coco"}}) {
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, 4);
    EXPECT_NE(outcome.err.find("crowd.json:1: annotations[0]: expected plain COCO"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("read it as the format \"crowd\""), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(host({"validate", "crowd.json", "--format", "coco"}).exit_code, 4);
  EXPECT_FALSE(fs::exists(folder.path() / "x.json"));
}

/// Files of annotators that are broken in every way a hand or a disk can break them, at each door that takes one.
TEST_F(Labels, BrokenAnnotatorFilesAreNamedWithPlaceAndReason) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-q", "--annotators", "good.json"}).exit_code, 0);
  const json good = read("good.json");
  const auto with = [&](const char* pointer, const json& value) {
    json out = good;
    out[json::json_pointer(pointer)] = value;
    return out.dump();
  };
  json no_key = good;
  no_key["annotators"][1].erase("box");
  json alien = good;
  alien["classes"][1]["name"] = "lorry";
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"", "expected a file that `aggregate --annotators` wrote, found an empty file"},
      {good.dump().substr(0, 700), "expected a file that `aggregate --annotators` wrote, found no JSON (line 1)"},
      {crowd().dump(), "/format: expected \"bdc_annotators\", found no such member"},
      {with("/version", 7), "/version: expected 1 or 2, the versions that this program reads, found 7"},
      {no_key.dump(), "/annotators/1: expected the member \"box\", found none"},
      {with("/annotators/0/images", "12"), "/annotators/0/images: expected a number, found \"12\""},
      {with("/annotators/0/images", -12), "/annotators/0/images: expected a number from 0 to 1e15, found -12"},
      {with("/annotators/0/existence/found", nullptr), "/annotators/0/existence/found: expected a number, found null"},
      {with("/annotators/0/box/count", 1e200), "/annotators/0/box/count: expected a number from 0 to 1e15"},
      {with("/annotators/0/box/deviation_sum", {1, 2, 3}), "/box/deviation_sum: expected an array of 4 numbers"},
      {with("/annotators/0/confusion", {{0, 5, 1.0}}), "/confusion/0: expected indices into the 2 classes"},
      {with("/annotators/2/id", "ann"), "/annotators/2/id: expected an id used once, found \"ann\" again"},
      {with("/profile", "mine"), "/profile: expected one of "},
  };
  const std::vector<std::vector<std::string>> doors = {
      {"annotators", "bad.json"},
      {"annotators", "good.json", "bad.json", "--merge", "out.json"},
      {"aggregate", "crowd.json", "--prior", "bad.json", "-o", "out.json"}};
  for (std::size_t n = 0; n < broken.size(); ++n) {  // each at one door, in turn: a start of the program takes a while
    folder.write("bad.json", broken[n].first);
    const auto outcome = host(doors[n % doors.size()]);
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("bdc-host: bad.json: ", 0), 0u) << outcome.err;
    EXPECT_NE(outcome.err.find(broken[n].second), std::string::npos)
        << "expected " << broken[n].second << "\nfound " << outcome.err;
    EXPECT_FALSE(fs::exists(folder.path() / "out.json"));
  }
  folder.write("alien.json", alien.dump());
  const auto outcome = host({"aggregate", "crowd.json", "--prior", "alien.json", "-o", "out.json"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.err.rfind("bdc-host: alien.json: /classes/1: expected a class of this data set (\"cat\", \"dog\"), "
                              "found \"lorry\"",
                              0),
            0u)
      << outcome.err;
  EXPECT_EQ(host({"annotators", "."}).exit_code, 4);
  EXPECT_EQ(host({"annotators", "gone.json"}).exit_code, 4);
  EXPECT_EQ(host({"annotators", "good.json", "--merge", "good.json"}).exit_code, 2) << "would overwrite an input";
}

TEST_F(Labels, MergedFilesHoldTheSumOfBoth) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-q", "--annotators", "monday.json"}).exit_code, 0);
  ASSERT_EQ(host({"aggregate", "crowd.json", "-q", "--prior", "monday.json", "--annotators", "tuesday.json"}).exit_code,
            0);
  ASSERT_EQ(host({"annotators", "monday.json", "tuesday.json", "--merge", "both.json"}).exit_code, 0);
  const json monday = read("monday.json"), tuesday = read("tuesday.json"), both = read("both.json");
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(both["annotators"][k]["images"], 24) << "12 on each day: the prior is not counted again";
    for (const char* key : {"images", "found", "missed", "spurious"}) {
      const auto of = [&](const json& file) { return file["annotators"][k]["existence"][key].get<double>(); };
      EXPECT_NEAR(of(both), of(monday) + of(tuesday), 1e-12) << key;
    }
  }
  json settings = both["priors"], of_monday = monday["priors"];
  settings.erase("recall"), of_monday.erase("recall");  // fitted to the people of each file
  EXPECT_EQ(settings, of_monday);
  const auto other = host({"aggregate", "crowd.json", "-q", "--option", "profile=paper", "--annotators", "paper.json"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  const auto mixed = host({"annotators", "monday.json", "paper.json"});
  EXPECT_EQ(mixed.exit_code, 4);
  EXPECT_NE(mixed.err.find("paper.json: /profile: expected \"absence_aware\" as in monday.json"), std::string::npos)
      << mixed.err;
}

/// Interrupted while it writes a folder of many files.
TEST_F(Labels, AnInterruptLeavesNoHalfWrittenFileOrFolder) {
  json large = crowd();
  for (int i = 12; i < 40000; ++i) {
    large["images"].push_back({{"id", i}, {"file_name", std::to_string(i) + ".png"}, {"width", 200}, {"height", 100}});
    for (const char* who : {"ann", "bob", "eve"})
      large["assignments"].push_back({{"image_id", i}, {"annotator_id", who}});
  }
  folder.write("large.json", large.dump());
  fs::create_directories(folder.path() / "out");
  bdc::test::RunningProgram program({BDC_HOST, "convert", "large.json", "out/yolo", "--to", "yolo"}, folder.path());
  while (fs::is_empty(folder.path() / "out")) ::usleep(1000);
  program.send(SIGTERM);
  const auto outcome = program.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("interrupted; no half-written file is left"), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::is_empty(folder.path() / "out"));
}

TEST_F(Labels, APipeHasNoFormatToDetect) {
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  const auto outcome = host({"aggregate", "pipe"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("pipe: is a pipe or device"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--format"), std::string::npos) << outcome.err;
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
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"aggregate", "gone.json", "-o", "out.json", "--annotators", "no/such/a.json"},
           {"convert", "gone.json", "no/such/yolo", "--to", "yolo"},
           {"validate", "gone.json", "--fix", "no/such/a.json"},
           {"annotators", "gone.json", "--merge", "no/such/a.json"}}) {
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, 1) << "before anything is read: " << outcome.err;
    EXPECT_NE(outcome.err.find("cannot be written: there is no folder no/such; create it first"), std::string::npos)
        << outcome.err;
  }
}

TEST_F(Labels, ConvertTellsWhatEachFormatWouldLose) {
  const auto told = host({"convert", "crowd.json", "--losses"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_NE(told.out.find("crowd: nothing is lost\n"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("yolo:\n  2 class ids (classes are numbered anew)\n"), std::string::npos) << told.out;
}

TEST_F(Labels, ScorecardsTellEachAnnotatorOfTheirOwnBoxesAlone) {
  json wide = crowd();
  for (auto& image : wide["images"]) image["width"] = 2000, image["height"] = 1000;
  folder.write("crowd.json", wide.dump());
  EXPECT_EQ(host({"aggregate", "crowd.json", "-o", "c.json", "--annotators", "a.json", "-q"}).exit_code, 0);
  const auto written =
      host({"annotators", "a.json", "--scorecard", "cards", "--labels", "crowd.json", "--consensus", "c.json"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_NE(written.err.find("wrote 3 scorecards to cards"), std::string::npos) << written.err;
  const std::string eve = read_file(folder.path() / "cards/eve.html"),
                    ann = read_file(folder.path() / "cards/ann.html");
  EXPECT_NE(eve.find("<h1>Your boxes: <bdi>eve</bdi></h1>"), std::string::npos);
  for (const char* other : {"ann", "bob"}) EXPECT_EQ(eve.find(std::string("<bdi>") + other), std::string::npos);
  EXPECT_NE(eve.find("Objects you did not draw"), std::string::npos) << "every second object";
  EXPECT_EQ(ann.find("Objects you did not draw"), std::string::npos);
  EXPECT_NE(eve.find("Your boxes tend to be too large."), std::string::npos) << eve;
  EXPECT_NE(eve.find("it most likely is"), std::string::npos) << "the other class each time";
  EXPECT_NE(eve.find("range that holds it with a probability of 90 %"), std::string::npos);
  EXPECT_NE(eve.find("too few people"), std::string::npos) << "a mean of three would tell of the two others";
  EXPECT_EQ(eve.find("crowd’s mean of"), std::string::npos);
  EXPECT_EQ(eve.find("<script"), std::string::npos);
  EXPECT_NE(eve.find("of 10 objects you draw in place"), std::string::npos);
  const std::size_t drawn = ann.find("<h2>Where you draw</h2>");
  ASSERT_NE(drawn, std::string::npos);
  EXPECT_NE(ann.find("of your box and of all together’s are the same place", drawn), std::string::npos)
      << "an example of where ann draws";
  EXPECT_EQ(ann.find("viewBox=\"0 0 2000 1000\""), std::string::npos)
      << "cut out around the object, not the whole image";
  EXPECT_NE(ann.find("where you draw", drawn), std::string::npos);
  const std::string index = read_file(folder.path() / "cards/index.html");
  for (const char* who : {"ann", "bob", "eve"}) {
    EXPECT_NE(index.find("<a href=\"" + std::string(who) + ".html\"><bdi>" + who), std::string::npos) << index;
  }
  EXPECT_EQ(host({"annotators", "a.json", "--scorecard", "cards/eve.html"}).exit_code, 2) << "a file";
  EXPECT_EQ(eve.find("http"), eve.find("http-equiv")) << "nothing is fetched";

  // Again: the same bytes, replacing nothing but scorecards.
  EXPECT_EQ(host({"annotators", "a.json", "--scorecard", "cards", "--labels", "crowd.json", "--consensus", "c.json"})
                .exit_code,
            0);
  EXPECT_EQ(read_file(folder.path() / "cards/eve.html"), eve);
  folder.write("cards/bob.html", "my own page");
  EXPECT_EQ(host({"annotators", "a.json", "--scorecard", "cards"}).exit_code, 2);
  EXPECT_EQ(read_file(folder.path() / "cards/bob.html"), "my own page");
}

TEST_F(Labels, ScorecardsLeaveNamesOutAndSayWhatIsNotKnown) {
  json data = crowd();
  data["annotators"] = {
      {{"id", 1}, {"name", "Ann Example"}}, {{"id", 2}, {"name", "<Bob>"}}, {{"id", 3}, {"name", "Idle"}}};
  json kept = json::array();
  for (auto a : data["annotations"]) {
    if (a["annotator_id"] == "eve") continue;
    a["annotator_id"] = a["annotator_id"] == "ann" ? 1 : 2;
    kept.push_back(a);
  }
  data["annotations"] = kept;
  data["assignments"] = json::array();
  for (int i = 0; i < 12; ++i) {
    for (int k = 1; k <= 2; ++k) data["assignments"].push_back({{"image_id", i}, {"annotator_id", k}});
  }
  folder.write("named.json", data.dump());
  EXPECT_EQ(host({"aggregate", "named.json", "--annotators", "a.json", "-q"}).exit_code, 0);
  EXPECT_EQ(host({"annotators", "a.json", "--scorecard", "cards"}).exit_code, 0);
  EXPECT_NE(read_file(folder.path() / "cards/annotator-2.html").find("&lt;Bob&gt;"), std::string::npos)
      << "a name that is no file's";
  EXPECT_EQ(host({"annotators", "a.json", "--scorecard", "bare", "--no-names"}).exit_code, 0);
  const std::string bare = read_file(folder.path() / "bare/1.html"), idle = read_file(folder.path() / "bare/3.html");
  EXPECT_EQ(bare.find("Ann Example"), std::string::npos);
  EXPECT_NE(bare.find("<h1>Your boxes</h1>"), std::string::npos);
  EXPECT_EQ(bare.find("Objects you did not draw"), std::string::npos) << "no labels, no examples";
  EXPECT_NE(idle.find("not known"), std::string::npos);
  EXPECT_NE(idle.find("The labels do not tell how many objects you miss"), std::string::npos);
  EXPECT_NE(idle.find("The labels do not tell where you draw"), std::string::npos);
  const auto refused = host({"annotators", "a.json", "--scorecard", "more", "--consensus", "named.json"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("go with --labels"), std::string::npos) << refused.err;
}

/// `convert a.json b.json c.json` with the output forgotten.
TEST_F(Labels, AReportReplacesReportsAndNothingElse) {
  folder.write("notes.txt", "precious");
  folder.write("again.csv", "mine,too");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"report", "crowd.json", "-o", "notes.txt"},
        {"report", "crowd.json", "-o", "r.html", "--relabel-csv", "again.csv"}}) {
    const auto refused = host(words);
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_NE(refused.err.find("exists and is not a file that bdc-host has marked as its own"), std::string::npos);
  }
  EXPECT_EQ(read_file(folder.path() / "notes.txt"), "precious");
  EXPECT_EQ(read_file(folder.path() / "again.csv"), "mine,too");
  for (int round = 0; round < 2; ++round) EXPECT_EQ(host({"report", "crowd.json", "-o", "r.html"}).exit_code, 0);
  EXPECT_EQ(host({"report", "crowd.json", "-o", "notes.txt", "--force"}).exit_code, 0);
}

TEST_F(Labels, AFileThatIsNotOursIsReplacedOnlyByForce) {
  const json all = crowd();
  for (const char* who : {"ann", "bob", "eve"}) {
    json mine = all;
    mine.erase("annotators");
    mine.erase("assignments");
    mine["annotations"] = json::array();
    for (json a : all["annotations"]) {
      if (a["annotator_id"] != who) continue;
      a.erase("annotator_id");
      mine["annotations"].push_back(a);
    }
    folder.write(std::string(who) + ".json", mine.dump());
  }
  const std::string before = read_file(folder.path() / "eve.json");
  const auto forgotten = host({"convert", "ann.json", "bob.json", "eve.json"});
  EXPECT_EQ(forgotten.exit_code, 2);
  EXPECT_NE(forgotten.err.find("eve.json: exists and is not a file that bdc-host has marked as its own"),
            std::string::npos)
      << forgotten.err;
  EXPECT_EQ(read_file(folder.path() / "eve.json"), before);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"aggregate", "ann.json", "bob.json", "-o", "eve.json"},
        {"aggregate", "ann.json", "bob.json", "--annotators", "eve.json"},
        {"validate", "ann.json", "--fix", "eve.json"}}) {
    EXPECT_EQ(host(words).exit_code, 2) << words[0];
    EXPECT_EQ(read_file(folder.path() / "eve.json"), before) << words[0];
  }
  EXPECT_EQ(host({"convert", "ann.json", "bob.json", "eve.json", "--force"}).exit_code, 0);
  EXPECT_EQ(read("eve.json")["annotators"].size(), 2U);
  EXPECT_EQ(host({"convert", "ann.json", "bob.json", "eve.json"}).exit_code, 0) << "ours now";
}

TEST_F(Labels, WhatWasTakenWhereFilesLeaveAChoiceIsToldOnce) {
  fs::create_directory(folder.path() / "one");
  fs::create_directory(folder.path() / "two");
  json plain = truth();
  folder.write("one/instances_default.json", plain.dump());
  plain["annotations"].erase(plain["annotations"].size() - 1);
  folder.write("two/instances_default.json", plain.dump());
  const auto outcome = host({"convert", "one/instances_default.json", "two/instances_default.json", "out.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "note: annotators are named after folders: \"one\", \"two\"\n");
  const auto chosen = host({"aggregate", "crowd.json", "--annotator-from", "nobody"});
  EXPECT_EQ(chosen.exit_code, 2);
  EXPECT_NE(chosen.err.find("expected one of assignee, file, folder, key"), std::string::npos) << chosen.err;
}

TEST_F(Labels, TheConsensusGoesBackInTheFormatOfALabellingProgram) {
  const auto outcome = host({"aggregate", "crowd.json", "-o", "out.xml", "--output-format", "cvat", "--min-existence",
                             "0.5", "--min-score", "0.01"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("cut: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("with an existence below 0.5 (--min-existence)"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("note: the format cvat cannot hold"), std::string::npos) << outcome.err;
  EXPECT_EQ(host({"validate", "out.xml"}).exit_code, 0);
  EXPECT_EQ(host({"aggregate", "crowd.json", "-o", "x", "--output-format", "word"}).exit_code, 2);
  EXPECT_EQ(host({"aggregate", "crowd.json", "-m", "mv", "-o", "x.json", "--min-existence", "0.5"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder.path() / "x.json"));
  EXPECT_EQ(host({"aggregate", "crowd.json", "-q", "-o", "labels", "--output-format", "yolo"}).exit_code, 0);
  EXPECT_EQ(host({"validate", "labels"}).exit_code, 0);
}

TEST_F(Labels, AggregateSaysHowManyBoxesLeaveTheirImages) {
  json data = crowd();
  data["annotations"][0]["bbox"] = {190, 20, 40, 30};
  data["annotations"][1]["bbox"] = {300, 20, 40, 30};
  folder.write("out.json", data.dump());
  const auto run = host({"aggregate", "out.json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.err.find("1 outside the image and 1 across its edge; they are used as drawn"), std::string::npos)
      << run.err;
  EXPECT_EQ(host({"aggregate", "crowd.json"}).err.find("outside the image"), std::string::npos);
}

TEST_F(Labels, OptionsThatWouldDoNothingAreRefused) {
  const auto nan = host({"aggregate", "crowd.json", "-o", "out.json", "--min-existence", "nan"});
  EXPECT_EQ(nan.exit_code, 2);
  EXPECT_NE(nan.err.find("--min-existence: expected a number from 0 to 1, found the number nan"), std::string::npos)
      << nan.err;
  const auto nowhere = host({"aggregate", "crowd.json", "--output-format", "cvat"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_NE(nowhere.err.find("--output-format cvat writes nothing without --output"), std::string::npos) << nowhere.err;
}

TEST_F(Labels, FoldersOfCocoFilesAreConvertedBySplit) {
  for (const char* who : {"ann", "bob"}) {
    for (const char* split : {"train", "valid"}) {
      folder.write("rc/" + std::string(who) + "/" + split + "/_annotations.coco.json", truth().dump());
    }
  }
  const auto part = host({"convert", "rc", "train.json", "--to", "crowd", "--split", "train"});
  EXPECT_EQ(part.exit_code, 0) << part.err;
  EXPECT_NE(part.out.find("of 2 annotators"), std::string::npos) << part.out;
}

}  // namespace
