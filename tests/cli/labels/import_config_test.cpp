// Settings of other programs: --import-config.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using nlohmann::json;

struct ImportConfig : testing::Test {
  bdc::test::Outcome config(std::vector<std::string> words) const {
    words.insert(words.begin(), "config");
    return run_host(words, folder.path());
  }
  void refuses(const std::string& name, const std::string& text, const std::string& message) const {
    folder.write(name, text);
    const auto outcome = config({"--import-config", name});
    EXPECT_EQ(outcome.exit_code, 3) << name << outcome.out;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
  TemporaryFolder folder;
};

TEST_F(ImportConfig, HyperparametersOfYoloBecomeOurKeysAndTheRestIsNamed) {
  folder.write("hyp.yaml", read_file(std::string(BDC_TEST_DATA) + "/bdc_core/data/yolo/hyp.yaml"));
  const auto outcome = config({"--import-config", "hyp.yaml", "--set", "train.momentum=0.5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json train = json::parse(outcome.out)["train"];
  EXPECT_EQ(train["learning_rate"], 0.01);
  EXPECT_EQ(train["final_share"], 0.1);
  EXPECT_EQ(train["momentum"], 0.5) << "the command line stands above";
  EXPECT_EQ(train["augment"]["hue"], 0.015);
  EXPECT_EQ(train["augment"]["zoom"], 0.5);
  EXPECT_EQ(train["augment"]["flip_x"], 0.5);
  EXPECT_NE(outcome.err.find("train.learning_rate=0.01 (lr0)"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("not used: warmup_epochs (in epochs; set train.warmup_steps), warmup_momentum, box (an "
                             "option of the plugin)"),
            std::string::npos)
      << outcome.err;
}

TEST_F(ImportConfig, AConfigFileStandsAboveWhatIsImported) {
  folder.write("hyp.yaml", "lr0: 0.5\nmomentum: 0.25\n");
  folder.write("own.json", R"({"train": {"momentum": 0.75}})");
  const auto outcome = config({"--import-config", "hyp.yaml", "--config", "own.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["train"]["learning_rate"], 0.5);
  EXPECT_EQ(json::parse(outcome.out)["train"]["momentum"], 0.75);
}

TEST_F(ImportConfig, Detectron2sYaml) {
  folder.write(
      "d2.yaml",
      "_BASE_: \"../Base-RCNN-FPN.yaml\"\nMODEL:\n  WEIGHTS: \"detectron2://R-50.pkl\"\n  ROI_HEADS:\n"
      "    NUM_CLASSES: 3\n    SCORE_THRESH_TEST: 0.05\nSOLVER:\n  BASE_LR: 0.02\n  IMS_PER_BATCH: 8\n"
      "  STEPS: (60000, 80000)\n  MAX_ITER: 90000\n  WARMUP_ITERS: 500\n  LR_SCHEDULER_NAME: WarmupMultiStepLR\n"
      "TEST:\n  DETECTIONS_PER_IMAGE: 50\nSEED: -1\n");
  const auto outcome = config({"--import-config", "d2.yaml"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json got = json::parse(outcome.out);
  EXPECT_EQ(got["train"]["learning_rate"], 0.02);
  EXPECT_EQ(got["train"]["batch_size"], 8);
  EXPECT_EQ(got["train"]["warmup_steps"], 500);
  EXPECT_EQ(got["train"]["schedule"], "step");
  EXPECT_EQ(got["train"]["seed"], 0) << "-1 says nothing";
  EXPECT_EQ(got["evaluate"]["min_score"], 0.05);
  EXPECT_EQ(got["evaluate"]["max_per_image"], 50);
  for (const char* part : {"_BASE_ (settings in that file are not read)", "SOLVER.MAX_ITER (in steps",
                           "MODEL.ROI_HEADS", "MODEL.WEIGHTS (set train.weights)", "SEED"}) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << outcome.err;
  }
}

TEST_F(ImportConfig, MmdetectionsDumpedConfigsOldAndNew) {
  folder.write("old.json",
               R"({"model": {"type": "FasterRCNN", "test_cfg": {"rcnn": {"score_thr": 0.05, "max_per_img": 100,
    "nms": {"type": "nms", "iou_threshold": 0.5}}}}, "data": {"samples_per_gpu": 2, "workers_per_gpu": 3},
    "optimizer": {"type": "SGD", "lr": 0.02, "momentum": 0.9, "weight_decay": 0.0001},
    "optimizer_config": {"grad_clip": null}, "lr_config": {"policy": "step", "warmup_iters": 500, "step": [8, 11]},
    "runner": {"type": "EpochBasedRunner", "max_epochs": 12}, "load_from": null})");
  const auto outcome = config({"--import-config", "old.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json old = json::parse(outcome.out);
  EXPECT_EQ(old["train"]["optimizer"], "sgd");
  EXPECT_EQ(old["train"]["epochs"], 12);
  EXPECT_EQ(old["train"]["batch_size"], 2);
  EXPECT_EQ(old["data"]["workers"], 3);
  EXPECT_EQ(old["evaluate"]["nms_iou"], 0.5);
  EXPECT_NE(outcome.err.find("lr_config.step"), std::string::npos) << outcome.err;
  folder.write("new.json", R"({"model": {"type": "RTMDet"}, "train_cfg": {"max_epochs": 300, "val_interval": 10},
    "optim_wrapper": {"optimizer": {"type": "AdamW", "lr": 0.004, "weight_decay": 0.05}, "clip_grad": {"max_norm": 35}},
    "param_scheduler": [{"type": "LinearLR", "end": 1000}, {"type": "CosineAnnealingLR"}],
    "train_dataloader": {"batch_size": 32, "num_workers": 10}})");
  const json now = json::parse(config({"--import-config", "new.json"}).out);
  EXPECT_EQ(now["train"]["optimizer"], "adamw");
  EXPECT_EQ(now["train"]["learning_rate"], 0.004);
  EXPECT_EQ(now["train"]["clip_norm"], 35);
  EXPECT_EQ(now["train"]["schedule"], "cosine");
  EXPECT_EQ(now["train"]["evaluate_every"], 10);
}

TEST_F(ImportConfig, ProgramsBrokenAndUnknownFilesAreRefusedWithWhatToDo) {
  refuses("faster_rcnn.py", "import os\nos.system('touch run')\n", "is a program, and programs are never run");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run"));
  refuses("data.yaml", "train: images\nnames: [a]\n", "a data.yaml is named with --data");
  refuses("broken.yaml", "lr0: [1, 2\n", "broken YAML");
  refuses("broken.json", "{\"model\": ", "is not valid JSON");
  refuses("twice.yaml", "lr0: 1\nlr0: 2\nlrf: 1\n", "the key \"lr0\" is given twice");
  refuses("range.yaml", "lr0: 0.01\nlrf: 7\n", "train.final_share");
  refuses("nothing.yaml", "SOLVER:\n  STEPS: 3\n", "none of its values is one of ours");
  refuses("batch.yaml", "lr0: 0.01\nlrf: 1\nbatch: 2\nbatch_size: 4\n", "both batch and batch_size are there");
  refuses("missing.yaml.json", "[]", "expected a JSON object");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";  // each level names the one before ten times
  for (int n = 1; n < 12; ++n) {
    const std::string before = "*a" + std::to_string(n - 1);
    std::string list = before;
    for (int i = 1; i < 10; ++i) list += ", " + before;
    bomb += "a" + std::to_string(n) + ": &a" + std::to_string(n) + " [" + list + "]\n";
  }
  refuses("bomb.yaml", bomb, "expected at most 100000 values");
  refuses("deep.yaml", "lr0: " + std::string(60, '[') + std::string(60, ']') + "\n", "nested more than 40 levels");
  const auto gone = config({"--import-config", "gone.yaml"});
  EXPECT_EQ(gone.exit_code, 3);
  EXPECT_NE(gone.err.find("gone.yaml: cannot be opened"), std::string::npos) << gone.err;
}

TEST_F(ImportConfig, AYamlOrAProgramGivenAsConfigSaysSo) {
  folder.write("hyp.yaml", "lr0: 0.01\n");
  const auto yaml = config({"--config", "hyp.yaml"});
  EXPECT_EQ(yaml.exit_code, 3);
  EXPECT_NE(yaml.err.find("is YAML by its name, and a config is JSON"), std::string::npos) << yaml.err;
  EXPECT_NE(yaml.err.find("--import-config FILE"), std::string::npos) << yaml.err;
  folder.write("c.py", "x = 1\n");
  EXPECT_NE(config({"--config", "c.py"}).err.find("programs are never run"), std::string::npos);
}

}  // namespace
