// BDC as a training hook, through the front door.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using Json = nlohmann::json;

std::vector<std::string> crowd_run(std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"train", "--plugin", "minimal", "--set", "output.name=run"};
  for (const char* set :
       {"data.shapes.train_images=60", "data.shapes.test_images=20", "data.shapes.crowd.experts=2",
        "data.shapes.crowd.average=3", "data.shapes.crowd.random=1", "train.epochs=3", "train.batch_size=8"}) {
    words.insert(words.end(), {"--set", set});
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json last_record(const TemporaryFolder& folder) {
  std::string text = read_file(folder.path() / "runs/run/metrics.jsonl");
  text.pop_back();
  return Json::parse(text.substr(text.rfind('\n') + 1));
}

class EveryHook : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryHook, TrainsOnAConsensusAndReportsHowGoodItIs) {
  const TemporaryFolder folder;
  const auto outcome = run_host(crowd_run({"--hook", GetParam(), "-q"}), folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string name = std::string(GetParam()).substr(0, std::string(GetParam()).find(':'));
  const Json config = Json::parse(read_file(folder.path() / "runs/run/config.json"));
  EXPECT_EQ(config["hooks"][0]["name"], name);
  if (name != "bdc") return;
  const Json record = last_record(folder);
  EXPECT_TRUE(record.contains("bdc/bound"));
  EXPECT_GT(record["bdc/AP50"].get<double>(), 0.3);
  const Json annotators = Json::parse(read_file(folder.path() / "runs/run/annotators.json"));
  EXPECT_EQ(annotators["annotators"].size(), 6U);
  EXPECT_TRUE(fs::exists(folder.path() / "runs/run/annotators/epoch_0003.json"));
}

INSTANTIATE_TEST_SUITE_P(Hooks, EveryHook,
                         ::testing::Values("na", "mv", "wbf", "wbf-earl", "bdc", "bdc:schedule=epoch",
                                           "bdc:profile=paper", "bdc:profile=reference",
                                           "bdc:use_detector=false,save_labels=true"));

TEST(CrowdTraining, LeavesThePicturesAndTablesOfARun) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_host(crowd_run({"--hook", "bdc:save_labels=true", "-q"}), folder.path()).exit_code, 0);
  for (const char* name : {"config.json", "metrics.jsonl", "results.csv", "learning_curve.png", "precision_recall.png",
                           "pictures/batch_epoch_1.png", "best.safetensors", "labels/epoch_0003.json"}) {
    EXPECT_TRUE(fs::exists(folder.path() / "runs/run" / name)) << name;
  }
  int events = 0;
  for (const auto& entry : fs::directory_iterator(folder.path() / "runs/run")) {
    events += entry.path().filename().string().rfind("events.out.tfevents.", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(events, 1);
  EXPECT_EQ(read_file(folder.path() / "runs/run/results.csv").substr(0, 11), "epoch,step,");
}

TEST(CrowdTraining, LabelsWithoutAnnotatorsAreAClearError) {
  const TemporaryFolder folder;
  folder.write("images/a.pgm", "P5\n32 32\n255\n" + std::string(32 * 32, 'x'));
  folder.write("labels.json", R"({"images": [{"id": 1, "file_name": "a.pgm", "width": 32, "height": 32}],
    "categories": [{"id": 1, "name": "thing"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [2, 2, 9, 9]}]})");
  const auto outcome =
      run_host({"--plugin", "minimal", "--hook", "bdc", "--data", "labels.json", "--images", "images"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("hook 'bdc' makes a consensus of several annotators, but the training labels name no"),
            std::string::npos)
      << outcome.err;
  EXPECT_FALSE(fs::exists(folder.path() / "runs")) << "no run folder is left behind";
}

TEST(CrowdTraining, TwoHooksThatMakeTheTargetsAreRefused) {
  const TemporaryFolder folder;
  const auto outcome = run_host({"--plugin", "minimal", "--hook", "bdc", "--hook", "mv"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("hooks 'bdc' and 'mv' both make the targets"), std::string::npos) << outcome.err;
}

TEST(CrowdTraining, TheBuiltInShapesGetACrowdWhenAHookNeedsOne) {
  const TemporaryFolder folder;
  const auto outcome = run_host({"--plugin", "minimal", "--hook", "mv", "--set", "data.shapes.train_images=16", "--set",
                                 "data.shapes.test_images=4", "--set", "train.epochs=1"},
                                folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("with a simulated crowd of 10"), std::string::npos) << outcome.err;
}

TEST(CrowdTraining, TheHookOnTheCommandLineAndInTheConfigAreTheSameAndChangeNothingElse) {
  const TemporaryFolder folder;
  folder.write("plain.json", R"({"plugin": {"name": "minimal"}, "train": {"epochs": 3}})");
  folder.write("bdc.json", R"({"_base_": "plain.json",
    "hooks": [
      {"name": "bdc"}
    ]})");
  const auto resolved = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "config");
    const auto outcome = run_host(words, folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  const Json plain = resolved({"--config", "plain.json"});
  const Json flag = resolved({"--config", "plain.json", "--hook", "bdc"});
  const Json file = resolved({"--config", "bdc.json"});
  EXPECT_EQ(flag, file);
  const Json difference = Json::diff(plain, flag);
  ASSERT_EQ(difference.size(), 1U) << difference.dump();
  EXPECT_EQ(difference[0]["path"].get<std::string>().rfind("/hooks", 0), 0U) << difference.dump();
}

TEST(CrowdTraining, FlipsLeaveTheLearntBiasOfAnAnnotatorAlone) {
  const auto left_bias = [](const std::string& flip) {
    const TemporaryFolder folder;
    const auto outcome =
        run_host(crowd_run({"--hook", "bdc", "-q", "--set", "train.augment.flip_x=" + flip, "--set", "train.epochs=2"}),
                 folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json annotators = Json::parse(read_file(folder.path() / "runs/run/annotators.json"));
    std::vector<double> bias;
    for (const auto& a : annotators["annotators"]) {
      bias.push_back(a["box"]["deviation_sum"][0].get<double>() / a["box"]["count"].get<double>());
    }
    return bias;
  };
  const auto never = left_bias("0"), always = left_bias("1");
  ASSERT_EQ(never.size(), 6U);
  double largest = 0;
  for (std::size_t k = 0; k + 1 < never.size(); ++k) {  // the last one draws at random
    EXPECT_NEAR(never[k], always[k], 0.02) << k;
    largest = std::max(largest, std::abs(never[k]));
  }
  EXPECT_GT(largest, 0.02) << "somebody must have a bias, or the test shows nothing";
}

TEST(TrainedRun, ValAndPredictUseItsBestWeights) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_host(crowd_run({"--hook", "mv", "-q"}), folder.path()).exit_code, 0);
  const auto val = run_host({"val", "runs/run", "--json", "--picture", "pr.png"}, folder.path());
  ASSERT_EQ(val.exit_code, 0) << val.err;
  double best = 0;
  std::istringstream lines(read_file(folder.path() / "runs/run/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) best = std::max(best, Json::parse(line)["test/AP"].get<double>());
  EXPECT_NEAR(Json::parse(val.out)["AP"].get<double>(), best, 1e-9);
  EXPECT_TRUE(fs::exists(folder.path() / "pr.png"));

  fs::create_directories(folder.path() / "in");
  fs::copy(folder.path() / "runs/run/pictures/batch_epoch_1.png", folder.path() / "in/a.png");
  folder.write("in/broken.jpg", "no image");
  folder.write("in/cut.png", read_file(folder.path() / "in/a.png").substr(0, 200));  // its header is whole
  const auto predict = run_host(
      {"predict", "runs/run", "in", "-o", "found.json", "--yolo", "yolo", "--pictures", "drawn", "--min-score", "0.05"},
      folder.path());
  ASSERT_EQ(predict.exit_code, 0) << predict.err;
  EXPECT_NE(predict.err.find("broken.jpg"), std::string::npos) << predict.err;
  EXPECT_NE(predict.err.find("left out: in/cut.png"), std::string::npos) << predict.err;
  const auto nothing = run_host({"predict", "runs/run", "in/cut.png", "-o", "nothing.json"}, folder.path());
  EXPECT_EQ(nothing.exit_code, 4) << nothing.err;
  EXPECT_FALSE(fs::exists(folder.path() / "nothing.json"));
  const Json found = Json::parse(read_file(folder.path() / "found.json"));
  EXPECT_EQ(found["images"][0]["file_name"], "in/a.png");
  EXPECT_EQ(found["categories"].size(), 4U);
  EXPECT_TRUE(fs::exists(folder.path() / "yolo/a.txt"));
  EXPECT_TRUE(fs::exists(folder.path() / "drawn/a.png"));
}

TEST(TrainedRun, NamesThatLeadNowhereAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_host({"val", "nowhere"}, folder.path()).exit_code, 4);
  folder.write("junk.safetensors", "junk");
  EXPECT_EQ(run_host({"val", "junk.safetensors"}, folder.path()).exit_code, 4);
  EXPECT_EQ(run_host({"predict", "nowhere", "."}, folder.path()).exit_code, 2) << "nothing to write";
}

}  // namespace
