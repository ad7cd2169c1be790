// `bdc-host experiment`: one table, whatever happens on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::RunningProgram;
using bdc::test::TemporaryFolder;
using nlohmann::json;

constexpr const char* kTrained = R"({
  "name": "small", "seeds": [1],
  "data": [{"name": "shapes", "shapes": {"train_images": 32, "test_images": 8, "classes": 2, "size": 64}}],
  "crowds": [{"name": "three", "groups": [{"skill": "expert", "annotators": 1}, {"skill": "average", "annotators": 2}]}],
  "methods": [{"name": "mv"}, {"name": "bdc"}],
  "detectors": [{"name": "minimal", "set": {"train.epochs": 3, "train.input_size": 64, "train.threads": 1}}]
})";

class Experiment : public testing::Test {
 protected:
  TemporaryFolder folder;
  bdc::test::Outcome host(std::vector<std::string> words) { return run_host(std::move(words), folder.path()); }
};

TEST_F(Experiment, JudgesLabelsOfEveryMethodAndSkipsWhatIsDone) {
  folder.write("grid.json", R"({
    "name": "labels", "seeds": [1, 2, 3],
    "data": [{"name": "shapes", "shapes": {"train_images": 60, "classes": 3, "size": 64}}],
    "crowds": [{"name": "few", "groups": [{"skill": "average", "annotators": 4}]}, {"name": "noisy", "preset": "noisy"}],
    "methods": [{"name": "na"}, {"name": "bdc"}]})");
  const auto first = host({"experiment", "grid.json", "-o", "out"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const json table = json::parse(read_file(folder.path() / "out/table.json"));
  ASSERT_EQ(table["rows"].size(), 4u);
  EXPECT_EQ(table["rows"][0]["done"], 3);
  EXPECT_GT(table["rows"][1]["numbers"]["labels AP"]["mean"], table["rows"][0]["numbers"]["labels AP"]["mean"]);
  EXPECT_NE(first.out.find(" ± "), std::string::npos);
  const auto written = fs::last_write_time(folder.path() / "out/cells" /
                                           fs::directory_iterator(folder.path() / "out/cells")->path().filename());
  const auto again = host({"experiment", "grid.json", "-o", "out"});
  EXPECT_NE(again.err.find("12 of them done"), std::string::npos) << again.err;
  EXPECT_EQ(fs::last_write_time(fs::directory_iterator(folder.path() / "out/cells")->path()), written);
}

TEST_F(Experiment, TimesAreTakenOfMethodsWithOptionsOfTheirHook) {
  json grid = json::parse(kTrained);
  grid["times"] = true;
  grid["methods"] = json::parse(R"([{"name": "each epoch", "method": "bdc", "options": {"schedule": "epoch"}}])");
  grid["detectors"][0]["set"]["train.epochs"] = 1;
  folder.write("grid.json", grid.dump());
  const auto outcome = host({"experiment", "grid.json", "-o", "out"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json row = json::parse(read_file(folder.path() / "out/table.json"))["rows"][0]["numbers"];
  EXPECT_TRUE(row.contains("preprocessing s")) << row;
  EXPECT_TRUE(row.contains("epoch s")) << row;
}

TEST_F(Experiment, InterruptedAtRandomItGivesTheSameTable) {
  folder.write("grid.json", kTrained);
  const auto whole = host({"experiment", "grid.json", "-o", "whole"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err << read_file(folder.path() / "whole/table.md");
  std::mt19937 random(7);
  int interruptions = 0;
  for (int attempt = 0;; ++attempt) {
    ASSERT_LT(attempt, 60);
    RunningProgram program({BDC_HOST, "experiment", "grid.json", "-o", "pieces"}, folder.path());
    // Longer and longer, so that it ends; the first attempts hardly start.
    std::this_thread::sleep_for(
        std::chrono::milliseconds(100 + random() % 400 + 1000 * static_cast<unsigned>(attempt)));
    program.send(attempt % 2 == 0 ? SIGKILL : SIGINT);
    const auto outcome = program.wait();
    if (outcome.signal == 0 && outcome.exit_code == 0) break;
    EXPECT_TRUE(outcome.signal != 0 || outcome.exit_code == 130) << outcome.exit_code << outcome.err;
    ++interruptions;
  }
  EXPECT_GE(interruptions, 2);
  EXPECT_EQ(read_file(folder.path() / "pieces/table.json"), read_file(folder.path() / "whole/table.json"));
  EXPECT_EQ(read_file(folder.path() / "pieces/table.csv"), read_file(folder.path() / "whole/table.csv"));
  const json table = json::parse(read_file(folder.path() / "whole/table.json"));
  EXPECT_TRUE(table["rows"][1]["numbers"].contains("test AP"));
  EXPECT_TRUE(table["rows"][1]["numbers"].contains("labels AP75"));
  std::string logs;
  for (const auto& entry : fs::directory_iterator(folder.path() / "whole/logs")) logs += read_file(entry.path());
  EXPECT_NE(logs.find("epoch 3/3"), std::string::npos) << "what went on is kept";
}

TEST_F(Experiment, DetectorsAreTrainedToAnnotate) {
  folder.write("grid.json", R"({
    "data": [{"name": "shapes", "shapes": {"train_images": 12, "test_images": 4, "classes": 2, "size": 64}}],
    "crowds": [{"name": "nets", "groups": [{"skill": "expert", "annotators": 3}], "trained_detectors": [
      {"name": "net", "min_score": 0.05, "set": {"train.epochs": 12, "train.input_size": 64, "data.shapes.train_images": 128}}]}],
    "methods": [{"name": "bdc"}]})");
  const auto outcome = host({"experiment", "grid.json", "-o", "out"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json table = json::parse(read_file(folder.path() / "out/table.json"));
  EXPECT_GT(table["rows"][0]["numbers"]["labels AP"]["mean"], 0.1) << table;
  bool found = false;
  for (const auto& entry : fs::directory_iterator(folder.path() / "out/files")) {
    if (entry.path().extension() == ".json") found = !json::parse(read_file(entry.path()))["annotations"].empty();
  }
  EXPECT_TRUE(found) << "what the detector found";
}

TEST_F(Experiment, AFileSaysWhatIsWrongWithIt) {
  const auto error_of = [&](const std::string& text) {
    folder.write("bad.json", text);
    const auto outcome = host({"experiment", "bad.json"});
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(error_of(R"({"dta": []})").find("data"), std::string::npos);
  EXPECT_NE(error_of(R"({"data": [], "crowds": [], "methods": []})").find("bad.json: data"), std::string::npos);
  EXPECT_NE(
      error_of(R"({"data": [{"name": "a", "shapes": {"clases": 3}}], "crowds": [{"name": "c", "preset": "voc-mix"}],
                         "methods": [{"name": "mv"}]})")
          .find("classes"),
      std::string::npos);
  EXPECT_NE(error_of(R"({"data": [{"name": "a", "shapes": {}}], "crowds": [{"name": "c", "preset": "voc-mix"}],
                         "methods": [{"name": "mv"}], "seeds": [1, 1]})")
                .find("twice"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"data": [{"name": "a", "shapes": {}}], "crowds": [{"name": "c", "preset": "voc-mix"}],
                         "methods": [{"name": "majority"}]})")
                .find("majority"),
            std::string::npos);
}

/// Labels of one image as COCO JSON, with a box as wide as wanted.
std::string one_image(double width) {
  return R"({"images": [{"id": 1, "file_name": "a.png", "width": 100, "height": 100}], "categories": [{"id": 1, "name": "x"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, )" +
         std::to_string(width) + R"(, 40]}]})";
}

constexpr const char* kFileGrid = R"({"data": [{"name": "d", "truth": "truth.json"}],
    "crowds": [{"name": "c", "groups": [{"skill": "expert", "annotators": 3}]}], "methods": [{"name": "mv"}]})";

TEST_F(Experiment, ACellIsRunAgainWhenAFileItReadsHasChanged) {
  folder.write("truth.json", one_image(30));
  folder.write("grid.json", kFileGrid);
  ASSERT_EQ(host({"experiment", "grid.json", "-o", "out"}).exit_code, 0);
  EXPECT_NE(host({"experiment", "grid.json", "-o", "out", "--list"}).out.find("done"), std::string::npos);
  folder.write("truth.json", one_image(50));
  EXPECT_NE(host({"experiment", "grid.json", "-o", "out", "--list"}).out.find("to do"), std::string::npos);
  folder.write("truth.json", one_image(30));
  EXPECT_NE(host({"experiment", "grid.json", "-o", "out", "--list"}).out.find("done"), std::string::npos);

  // The same for results of detectors.
  folder.write("truth.json", one_image(30));
  folder.write("found.json", R"([{"image_id": 1, "category_id": 1, "bbox": [10, 10, 30, 40], "score": 0.9}])");
  json drawn = json::parse(kFileGrid);
  drawn["crowds"][0]["detectors"] =
      json::parse(R"([{"name": "a", "file": "found.json"}, {"name": "b", "file": "found.json"}])");
  folder.write("drawn.json", drawn.dump());
  const auto detected = host({"experiment", "drawn.json", "-o", "drawn"});
  ASSERT_EQ(detected.exit_code, 0) << detected.err;
  EXPECT_NE(host({"experiment", "drawn.json", "-o", "drawn", "--list"}).out.find("done"), std::string::npos);
  folder.write("found.json", R"([{"image_id": 1, "category_id": 1, "bbox": [10, 10, 60, 40], "score": 0.9}])");
  EXPECT_NE(host({"experiment", "drawn.json", "-o", "drawn", "--list"}).out.find("to do"), std::string::npos);

  // The same for a detector's config, by way of what it is based on.
  json grid = json::parse(kTrained);
  grid["detectors"] = json::parse(R"([{"name": "d", "config": "detector.json"}])");
  folder.write("trained.json", grid.dump());
  folder.write("detector.json", R"({"_base_": "base.json"})");
  folder.write("base.json", R"({"plugin": {"name": "minimal"}, "train": {"epochs": 1}})");
  const auto before = host({"experiment", "trained.json", "--list"});
  ASSERT_EQ(before.exit_code, 0) << before.err;
  folder.write("base.json", R"({"plugin": {"name": "minimal"}, "train": {"epochs": 2}})");
  EXPECT_NE(host({"experiment", "trained.json", "--list"}).out, before.out);
}

TEST_F(Experiment, WhatIsWrongWithALaterCellStopsItBeforeTheFirst) {
  const auto refused = [&](const json& grid, int code, const std::string& word) {
    folder.write("late.json", grid.dump());
    const auto outcome = host({"experiment", "late.json", "-o", "late"});
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(folder.path() / "late/cells"));
  };
  json grid = json::parse(kTrained);
  grid.erase("detectors");
  grid["methods"].push_back(json::parse(R"({"name": "bdd"})"));
  refused(grid, 3, "bdd");
  grid["methods"][2] = json::parse(R"({"name": "two", "method": "bdc", "options": {"profil": "paper"}})");
  refused(grid, 3, "profil");
  grid["methods"].erase(2);
  grid["data"].push_back(json::parse(R"({"name": "later", "truth": "nowhere.json"})"));
  refused(grid, 4, "nowhere.json");
  grid = json::parse(kTrained);
  grid["detectors"].push_back(json::parse(R"({"name": "yolov9"})"));
  refused(grid, 5, "late.json: detectors.yolov9");
  grid["detectors"][1] = json::parse(R"({"name": "second", "plugin": "minimal", "set": {"train.epoch": 1}})");
  refused(grid, 3, "train.epochs");
}

TEST_F(Experiment, FiguresOfFewerImagesAreNotTakenForTheWhole) {
  json grid = json::parse(kTrained);
  grid["methods"].erase(1);
  grid["detectors"][0]["set"]["train.epochs"] = 1;
  folder.write("grid.json", grid.dump());
  const auto whole = host({"experiment", "grid.json", "-o", "out"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string table = read_file(folder.path() / "out/table.json");
  fs::remove_all(folder.path() / "out/cells");
  fs::remove_all(folder.path() / "out/runs");
  for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "out/files")) {
    if (entry.path().string().find("/train/") != std::string::npos && entry.path().extension() == ".png") {
      fs::resize_file(entry.path(), 0);
      break;
    }
  }
  const auto damaged = host({"experiment", "grid.json", "-o", "out"});
  EXPECT_EQ(damaged.exit_code, 4) << damaged.err;
  EXPECT_NE(damaged.err.find(".png"), std::string::npos) << damaged.err;
  const auto mended = host({"experiment", "grid.json", "-o", "out"});
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_EQ(read_file(folder.path() / "out/table.json"), table);
}

TEST_F(Experiment, DamagedResultsAreMadeAnewAndLeftoversRemoved) {
  folder.write("truth.json", one_image(30));
  folder.write("grid.json", kFileGrid);
  ASSERT_EQ(host({"experiment", "grid.json", "-o", "out"}).exit_code, 0);
  const std::string table = read_file(folder.path() / "out/table.json");
  const fs::path cell = fs::directory_iterator(folder.path() / "out/cells")->path();
  fs::create_directories(folder.path() / "out/files/.shapes_half");
  for (const char* damage : {"", "{", "[]", R"({"labels": {"AP": "high"}})", R"({"labels": {"AP": 7.5}})"}) {
    folder.write("out/cells/" + cell.filename().string(), damage);
    const auto outcome = host({"experiment", "grid.json", "-o", "out"});
    EXPECT_EQ(outcome.exit_code, 0) << damage << outcome.err;
    EXPECT_EQ(read_file(folder.path() / "out/table.json"), table) << damage;
  }
  EXPECT_FALSE(fs::exists(folder.path() / "out/files/.shapes_half"));
}

TEST_F(Experiment, AFolderIsForOneProcessAndMustBeOne) {
  json grid = json::parse(kTrained);
  grid["detectors"][0]["set"]["train.epochs"] = 1000;
  folder.write("grid.json", grid.dump());
  RunningProgram first({BDC_HOST, "experiment", "grid.json", "-o", "out"}, folder.path());
  for (int n = 0; n < 200 && !fs::exists(folder.path() / "out/table.md"); ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const auto second = host({"experiment", "grid.json", "-o", "out"});
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().exit_code, 130) << "the second must not have waited for its end";
  EXPECT_EQ(second.exit_code, 2) << second.err;
  EXPECT_NE(second.err.find("this experiment is still running in another process"), std::string::npos) << second.err;
  folder.write("file", "");
  EXPECT_EQ(host({"experiment", "grid.json", "-o", "file"}).exit_code, 1);
}

/// Every experiment of configs/experiments.
std::vector<std::string> shipped_grids() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(std::string(BDC_SOURCE_FOLDER) + "/configs/experiments")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".json") out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

class ShippedGrid : public testing::TestWithParam<std::string> {};

TEST_P(ShippedGrid, IsUnderstood) {
  const TemporaryFolder folder;
  const auto outcome = run_host(
      {"experiment", std::string(BDC_SOURCE_FOLDER) + "/configs/experiments/" + GetParam() + ".json", "--list"},
      folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("to do"), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(Configs, ShippedGrid, testing::ValuesIn(shipped_grids()),
                         [](const testing::TestParamInfo<std::string>& grid) { return grid.param; });

}  // namespace
