// Network crowds through the front door: small networks are trained on shapes.

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
