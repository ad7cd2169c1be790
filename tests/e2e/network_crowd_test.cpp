// Network crowds through the front door: small networks are trained on shapes, and the skills come out in order.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::RunningProgram;
using bdc::test::TemporaryFolder;
using Json = nlohmann::json;

double margin(double p, double n) {
  return 4 * std::sqrt(p * (1 - p) / n) + 1e-9;
}

TEST(NetworkCrowd, SkillsComeOutInOrderAndFollowTheirSettings) {
  const TemporaryFolder folder;
  folder.write("mix.json", R"({"kind": "network", "groups": [
    {"skill": "expert", "annotators": 4}, {"skill": "average", "annotators": 4, "coverage": 0.6},
    {"skill": "poor", "annotators": 4}, {"skill": "random", "annotators": 2}]})");
  const std::vector<std::string> words = {
      "synth",      "--shapes",       "200",    "--config",     "mix.json",   "--networks",
      "networks",   "--threads",      "2",      "-o",           "crowd.json", "--write-truth",
      "truth.json", "--write-images", "images", "--parameters", "true.json"};
  const auto first = run_host(words, folder.path());
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Json aside = Json::parse(read_file(folder.path() / "true.json"));
  const std::size_t J = aside["classes"].size(), size = J + 1;

  struct Sum {
    double accuracy = 0, measured_accuracy = 0, iou = 0, annotators = 0;
  };
  std::map<std::string, Sum> skills;
  for (const Json& who : aside["annotators"]) {
    Sum& s = skills[who["skill"]];
    s.annotators += 1;
    s.accuracy += who["class_accuracy"].get<double>();
    s.measured_accuracy += who["measured"]["class_accuracy"].get<double>();
    s.iou += who["measured"]["box_iou"].get<double>();
    const double images = who["images"], objects = images * 1.5;  // there are 1 to 3 objects in an image
    EXPECT_EQ(images, who["skill"] == "average" ? 120 : 200);
    // What was drawn is near the annotator's own matrix. An object that no proposal touches is missed beside it.
    const double recall = who["recall"], spurious = who["spurious_rate"], accuracy = who["class_accuracy"];
    EXPECT_NEAR(who["measured"]["recall"].get<double>(), recall, margin(recall, objects) + 0.02) << who["id"];
    EXPECT_NEAR(who["measured"]["spurious_rate"].get<double>(), spurious, margin(spurious, images)) << who["id"];
    EXPECT_NEAR(who["measured"]["class_accuracy"].get<double>(), accuracy, margin(accuracy, objects * recall));
    for (std::size_t t = 0; t < size; ++t) {
      double row = 0;
      for (std::size_t c = 0; c < size; ++c) row += who["confusion"][t * size + c].get<double>();
      EXPECT_NEAR(row, 1, 1e-5);
    }
  }
  const auto ahead = [&](const char* better, const char* worse) {
    const Sum &a = skills[better], &b = skills[worse];
    EXPECT_GT(a.accuracy / a.annotators, b.accuracy / b.annotators + 0.03) << better << " and " << worse;
    EXPECT_GT(a.measured_accuracy / a.annotators, b.measured_accuracy / b.annotators) << better << " and " << worse;
    EXPECT_GT(a.iou / a.annotators, b.iou / b.annotators + 0.02) << better << " and " << worse;
  };
  ahead("expert", "average");
  ahead("average", "poor");
  ahead("poor", "random");

  // The same networks, taken from files and images, on another number of threads: the same crowd.
  const auto second = run_host({"synth", "truth.json", "--images", "images", "--config", "mix.json", "--networks",
                                "networks", "--threads", "1", "-q", "-o", "again.json"},
                               folder.path());
  ASSERT_EQ(second.exit_code, 0) << second.err;
  const Json crowd = Json::parse(read_file(folder.path() / "crowd.json")),
             again = Json::parse(read_file(folder.path() / "again.json"));
  EXPECT_EQ(crowd["annotations"], again["annotations"]);
  EXPECT_EQ(crowd["assignments"], again["assignments"]);
  EXPECT_FALSE(crowd.contains("truth"));

  // Labels that aggregate well are worth simulating.
  const auto judged = run_host({"aggregate", "crowd.json", "--truth", "truth.json", "--json"}, folder.path());
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_GT(Json::parse(judged.out)["AP50"], 0.5);
}

TEST(NetworkCrowd, AnInterruptLeavesWholeSkillsOrNothing) {
  const TemporaryFolder folder;
  folder.write("mix.json", R"({"kind": "network", "groups": [{"skill": "poor"}, {"skill": "expert"}],
    "networks": {"classifier": {"width": 0.05, "epochs": 1}, "rpn": {"width": 0.05, "pyramid": 8, "input": 64, "epochs": 1},
                 "skills": {"expert": {"rpn": {"epochs": 10000}}}}})");
  for (const char* moment : {"poor, alexnet: epoch 1/1", "expert, proposals of resnet101: epoch 2/"}) {
    RunningProgram program({BDC_HOST, "synth", "--shapes", "30", "--config", "mix.json", "--networks", "networks", "-o",
                            "crowd.json", "--parameters", "true.json"},
                           folder.path());
    for (int n = 0; n < 1200 && program.err_so_far().find(moment) == std::string::npos; ++n) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    program.send(SIGINT);
    const auto outcome = program.wait();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_NE(outcome.err.find(moment), std::string::npos) << outcome.err;
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      if (entry.is_regular_file()) found.insert(fs::relative(entry.path(), folder.path()).string());
    }
    std::set<std::string> whole = {"mix.json"};
    if (found.size() > 1) {
      for (const char* name : {"networks.json", "classifier.safetensors", "rpn.safetensors"}) {
        whole.insert(std::string("networks/poor/") + name);
      }
    }
    EXPECT_EQ(found, whole);
    if (std::string(moment).find("expert") != std::string::npos) {
      EXPECT_EQ(found.size(), 4u);
    }
  }
}

TEST(NetworkCrowd, IsACrowdOfAnExperiment) {
  const TemporaryFolder folder;
  folder.write("grid.json", R"({"name": "networks", "seeds": [1],
    "data": [{"name": "shapes", "shapes": {"train_images": 30, "classes": 2, "size": 64}}],
    "crowds": [{"name": "net", "kind": "network", "groups": [{"skill": "average", "annotators": 3}],
                "networks": {"classifier": {"width": 0.05, "epochs": 1},
                             "rpn": {"width": 0.05, "pyramid": 8, "input": 64, "epochs": 1}}}],
    "methods": [{"name": "mv"}, {"name": "na"}]})");
  const auto outcome = run_host({"experiment", "grid.json", "-o", "out"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json table = Json::parse(read_file(folder.path() / "out/table.json"));
  ASSERT_EQ(table["rows"].size(), 2u);
  for (const Json& row : table["rows"]) EXPECT_TRUE(row["numbers"].contains("labels AP")) << row;
  std::size_t networks = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "out/files")) {
    networks += entry.path().filename() == "networks.json" ? 1 : 0;
  }
  EXPECT_EQ(networks, 1u);  // both methods share the crowd and its networks
}

}  // namespace
