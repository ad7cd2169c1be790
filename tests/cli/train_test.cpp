// Training through the front door: run folders, JSON output, interrupt and resume.

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using bdc::test::tensor_bytes;

std::vector<std::string> small_run(std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"train",
                                    "--plugin",
                                    "minimal",
                                    "--set",
                                    "data.shapes.train_images=24",
                                    "--set",
                                    "data.shapes.test_images=8",
                                    "--set",
                                    "train.epochs=3",
                                    "--set",
                                    "train.batch_size=4",
                                    "--set",
                                    "plugin.options.width=4",
                                    "--set",
                                    "train.threads=1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Train, WritesConfigMetricsAndCheckpointIntoFoldersThatCountUp) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_host(small_run(), folder.path()).exit_code, 0);
  ASSERT_EQ(run_host(small_run({"--quiet"}), folder.path()).exit_code, 0);
  for (const char* run : {"runs/minimal-1", "runs/minimal-2"}) {
    EXPECT_TRUE(fs::exists(folder.path() / run / "last.safetensors"));
    const auto config = nlohmann::json::parse(read_file(folder.path() / run / "config.json"));
    EXPECT_EQ(config["train"]["epochs"], 3);
    EXPECT_EQ(config["train"]["optimizer"], "adamw");
  }
  EXPECT_TRUE(read_file(folder.path() / "runs/minimal-1/last.safetensors") ==
              read_file(folder.path() / "runs/minimal-2/last.safetensors"))
      << "the same seed must give the same bits";
  const std::string metrics = read_file(folder.path() / "runs/minimal-1/metrics.jsonl");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 3);
  EXPECT_TRUE(nlohmann::json::parse(metrics.substr(0, metrics.find('\n'))).contains("test/AP50"));
}

TEST(Train, HalfPrecisionAndDevicesAreOnlyWhereTheyAreKnownToWork) {
  const TemporaryFolder folder;
  const auto refused = run_host(small_run({"--amp"}), folder.path());
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("plugin 'minimal' does not say that it can compute in half precision"), std::string::npos)
      << refused.err;
  const auto device = run_host(small_run({"--device", "gpu"}), folder.path());
  EXPECT_EQ(device.exit_code, 3);
  EXPECT_NE(device.err.find("expected auto, cpu, cuda or cuda:N, found 'gpu'"), std::string::npos) << device.err;
  const auto missing = run_host(small_run({"--device", "cuda:900"}), folder.path());
  EXPECT_EQ(missing.exit_code, 8) << missing.err;
  EXPECT_FALSE(fs::exists(folder.path() / "runs")) << "nothing was begun";
  for (const char* plugin : {"yolov7", "frcnn"}) {
    const auto trained =
        run_host({"--plugin", plugin, "--hook", "bdc", "--amp", "--device", "cpu", "--set",
                  "data.shapes.train_images=8", "--set", "data.shapes.test_images=4", "--set", "train.epochs=1"},
                 folder.path());
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    EXPECT_NE(trained.err.find("half precision"), std::string::npos) << trained.err;
  }
}

TEST(Train, QuietPrintsNothingAndJsonPrintsOnlyJson) {
  const TemporaryFolder folder;
  const auto quiet = run_host(small_run({"--quiet"}), folder.path());
  EXPECT_EQ(quiet.out + quiet.err, "");
  const auto json = run_host(small_run({"--json"}), folder.path());
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_TRUE(report["test"].contains("AP50"));
  EXPECT_EQ(json.err.find('\r'), std::string::npos) << "no live line when standard error is no terminal";
}

TEST(Train, AnExistingRunIsNeverOverwritten) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_host(small_run({"--set", "output.name=mine", "-q"}), folder.path()).exit_code, 0);
  const auto before = fs::last_write_time(folder.path() / "runs/mine/last.safetensors");
  const auto outcome = run_host(small_run({"--set", "output.name=mine", "-q"}), folder.path());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("nothing is overwritten"), std::string::npos);
  EXPECT_EQ(before, fs::last_write_time(folder.path() / "runs/mine/last.safetensors"));
}

TEST(Train, AnInterruptedRunSavesExits130AndResumesToTheSameBits) {
  const TemporaryFolder folder;
  ASSERT_EQ(
      run_host(small_run({"--set", "train.epochs=30", "--set", "output.name=whole", "-q"}), folder.path()).exit_code,
      0);
  auto words = small_run({"--set", "train.epochs=30", "--set", "output.name=parts"});
  words.insert(words.begin(), BDC_HOST);
  bdc::test::RunningProgram program(words, folder.path());
  for (int i = 0; i < 600 && program.err_so_far().find("epoch 2/") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  program.send(SIGINT);
  const auto outcome = program.wait();
  ASSERT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.out.find("--resume"), std::string::npos);
  ASSERT_EQ(run_host({"train", "--resume", "runs/parts", "-q"}, folder.path()).exit_code, 0);
  // The header holds the config, and with it the run's name.
  EXPECT_TRUE(tensor_bytes(folder.path() / "runs/whole/last.safetensors") ==
              tensor_bytes(folder.path() / "runs/parts/last.safetensors"));
}

TEST(Train, AFinishedRunSaysSoWhenItIsResumed) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_host(small_run({"-q"}), folder.path()).exit_code, 0);
  const std::string before = read_file(folder.path() / "runs/minimal-1/last.safetensors");
  const auto again = run_host({"train", "--resume", "auto", "--json"}, folder.path());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("runs/minimal-1: is already finished: all 3 epochs are done"), std::string::npos)
      << again.err;
  EXPECT_EQ(again.err.find("resuming"), std::string::npos) << again.err;
  EXPECT_EQ(nlohmann::json::parse(again.out)["was_finished"], true);
  EXPECT_TRUE(read_file(folder.path() / "runs/minimal-1/last.safetensors") == before);
}

TEST(Train, StoppingEarlySaysWhy) {
  const TemporaryFolder folder;
  // No detection is so sure, so that AP stays 0.
  const auto first = run_host(
      small_run({"--set", "evaluate.min_score=0.9999", "--set", "train.epochs=9", "--set", "train.patience=2"}),
      folder.path());
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.err.find("stopped: AP has not risen for 2 epochs (train.patience); the best was 0.000 in epoch 1"),
            std::string::npos)
      << first.err;
  const auto again = run_host({"train", "--resume", "runs/minimal-1"}, folder.path());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("runs/minimal-1: is already finished: AP has not risen for 2 epochs (train.patience)"),
            std::string::npos)
      << again.err;
  EXPECT_EQ(again.err.find("stopped: "), std::string::npos) << again.err;
}

TEST(Train, ARunThatIsGoingOnIsNotResumedByASecondProcess) {
  const TemporaryFolder folder;
  auto words = small_run({"--set", "train.epochs=20000", "--set", "output.name=run"});
  words.insert(words.begin(), BDC_HOST);
  bdc::test::RunningProgram program(words, folder.path());
  for (int i = 0; i < 600 && !fs::exists(folder.path() / "runs/run/previous.safetensors"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string pid = read_file(folder.path() / "runs/run/lock");
  EXPECT_FALSE(pid.empty());
  for (const char* run : {"runs/run", "auto"}) {
    const auto second = run_host({"train", "--resume", run}, folder.path());
    EXPECT_EQ(second.exit_code, 2) << second.err;
    EXPECT_NE(second.err.find("runs/run: this run is still running in another process (pid " +
                              pid.substr(0, pid.find('\n')) + ")"),
              std::string::npos)
        << second.err;
  }
  program.send(SIGKILL);
  EXPECT_EQ(program.wait().signal, SIGKILL) << "the first one was not disturbed";
  words = {BDC_HOST, "train", "--resume", "runs/run"};
  bdc::test::RunningProgram third(words, folder.path());
  for (int i = 0; i < 600 && third.err_so_far().find("resuming runs/run") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  third.send(SIGINT);
  const auto outcome = third.wait();
  EXPECT_EQ(outcome.exit_code, 130) << "the lock went with the process: " << outcome.err;
}

TEST(Train, ResumeRefusesOtherSettingsMissingRunsAndDamagedCheckpoints) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_host({"train", "--resume", "runs/gone"}, folder.path()).exit_code, 4);
  ASSERT_EQ(run_host(small_run({"-q"}), folder.path()).exit_code, 0);
  EXPECT_EQ(run_host({"train", "--resume", "runs/minimal-1", "--set", "train.epochs=9"}, folder.path()).exit_code, 2);
  const auto file = folder.path() / "runs/minimal-1/last.safetensors";
  const std::string bytes = read_file(file);
  fs::remove(folder.path() / "runs/minimal-1/previous.safetensors");  // nothing to fall back on
  for (const std::string& damaged : {std::string(), std::string("hello"), bytes.substr(0, bytes.size() / 2),
                                     bytes + "more", std::string(100000, '\xff')}) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << damaged;
    const auto outcome = run_host({"train", "--resume", "runs/minimal-1", "-q"}, folder.path());
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_NE(outcome.err.find("last.safetensors"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("there is no earlier checkpoint"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("bdc-host train --config runs/minimal-1/config.json --set output.name= --set "
                               "train.weights=runs/minimal-1/best.safetensors"),
              std::string::npos)
        << outcome.err;
  }
  EXPECT_EQ(run_host({"train", "--config", "runs/minimal-1/config.json", "--set", "output.name=", "--set",
                      "train.weights=runs/minimal-1/best.safetensors", "-q"},
                     folder.path())
                .exit_code,
            0)
      << "the advice works";
  fs::remove(file);
  const auto none = run_host({"train", "--resume", "runs/minimal-1", "-q"}, folder.path());
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_NE(none.err.find("runs/minimal-1: holds no checkpoint"), std::string::npos) << none.err;
}

TEST(Train, ARunStoppedBeforeItsFirstCheckpointBeginsAgainInItsFolder) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_host(small_run({"-q", "--set", "output.name=whole"}), folder.path()).exit_code, 0);
  // As a run looks that was killed in its first epoch.
  fs::create_directories(folder.path() / "runs/cut");
  std::string config = read_file(folder.path() / "runs/whole/config.json");
  const auto name = config.find("\"whole\"");
  ASSERT_NE(name, std::string::npos);
  folder.write("runs/cut/config.json", config.replace(name, 7, "\"cut\""));
  const auto outcome = run_host({"train", "--resume", "auto"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("runs/cut: was stopped before its first checkpoint, so it starts over"), std::string::npos)
      << outcome.err;
  EXPECT_TRUE(bdc::test::tensor_bytes(folder.path() / "runs/cut/last.safetensors") ==
              bdc::test::tensor_bytes(folder.path() / "runs/whole/last.safetensors"));

  folder.write("runs/broken/config.json", "{\"train\": {\"epochs\": \"many\"}}");
  const auto broken = run_host({"train", "--resume", "runs/broken"}, folder.path());
  EXPECT_EQ(broken.exit_code, 3) << broken.err;
  EXPECT_NE(broken.err.find("train.epochs"), std::string::npos) << broken.err;
}

TEST(Train, ResumeSaysThatAnEditedConfigIsNotUsed) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_host(small_run({"-q"}), folder.path()).exit_code, 0);
  const auto untouched = run_host({"train", "--resume", "runs/minimal-1"}, folder.path());
  EXPECT_EQ(untouched.exit_code, 0);
  EXPECT_EQ(untouched.err.find("warning"), std::string::npos) << untouched.err;
  folder.write("runs/minimal-1/config.json", "{\"train\": {\"epochs\": 50}}");
  const auto edited = run_host({"train", "--resume", "runs/minimal-1"}, folder.path());
  EXPECT_EQ(edited.exit_code, 0);
  EXPECT_NE(edited.err.find("warning: runs/minimal-1/config.json has changed since the run began"), std::string::npos)
      << edited.err;
}

/// Runs the program with a limit on the size of the files it writes, in units of 1 KiB.
bdc::test::Outcome run_limited(int kilobytes, const std::string& words, const fs::path& folder) {
  return bdc::test::run(
      {"bash", "-c", "ulimit -f " + std::to_string(kilobytes) + " && exec " + std::string(BDC_HOST) + " " + words},
      folder);
}

TEST(Train, AFileThatCannotBeWrittenWholeIsToldOnceAndTheCheckpointStaysAsItWas) {
  const TemporaryFolder folder;
  auto words = small_run({"--set", "train.epochs=30", "--set", "plugin.options.width=64", "--set", "output.name=run"});
  words.insert(words.begin(), BDC_HOST);
  bdc::test::RunningProgram program(words, folder.path());
  const auto file = folder.path() / "runs/run/last.safetensors";
  for (int i = 0; i < 600 && program.err_so_far().find("epoch 2/") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  program.send(SIGINT);
  ASSERT_EQ(program.wait().exit_code, 130);
  const std::string before = read_file(file);
  ASSERT_GT(before.size(), 300u << 10) << "larger than the limit";
  const auto limited = run_limited(200, "train --resume runs/run", folder.path());
  EXPECT_EQ(limited.signal, 0) << "no end by SIGXFSZ";
  EXPECT_EQ(limited.exit_code, 1) << limited.err;
  const std::string wanted =
      "last.new.safetensors: cannot be written: File too large\n  advice: raise the limit on the "
      "size of files (ulimit -f)\n  the previous checkpoint is intact: continue with --resume "
      "runs/run\n";
  EXPECT_NE(limited.err.find(wanted), std::string::npos) << limited.err;
  const auto first = limited.err.find("cannot be written");
  EXPECT_EQ(limited.err.find("cannot be written", first + 1), std::string::npos) << "said once: " << limited.err;
  EXPECT_TRUE(read_file(file) == before);
}

TEST(Train, CheckpointsServeAsWeightFiles) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_host(small_run({"-q"}), folder.path()).exit_code, 0);
  const auto last = folder.path() / "runs/minimal-1/last.safetensors";
  for (const char* name : {"last", "previous", "best"}) {
    const std::string file = "runs/minimal-1/" + std::string(name) + ".safetensors";
    const auto judged = run_host({"val", file, "--json"}, folder.path());
    EXPECT_EQ(judged.exit_code, 0) << judged.err;
    EXPECT_NE(judged.err.find("evaluating " + file), std::string::npos) << judged.err;
  }
  fs::resize_file(last, fs::file_size(last) - 4);
  EXPECT_EQ(run_host({"val", "runs/minimal-1/last.safetensors"}, folder.path()).exit_code, 4);
}

TEST(Train, AHookFromAPluginTakesPart) {
  const TemporaryFolder folder;
  const auto plain = run_host(small_run({"-q", "--set", "output.name=plain"}), folder.path());
  const auto smooth = run_host(
      small_run({"--set", "output.name=smooth", "--hook", "label_smoothing:share=0.3,priority=20"}), folder.path());
  ASSERT_EQ(smooth.exit_code, 0) << smooth.err;
  EXPECT_NE(smooth.err.find("hooks: label_smoothing"), std::string::npos);
  const auto config = nlohmann::json::parse(read_file(folder.path() / "runs/smooth/config.json"));
  EXPECT_EQ(config["hooks"][0]["priority"], 20);
  EXPECT_EQ(config["hooks"][0]["options"]["share"], 0.3);
  EXPECT_NE(read_file(folder.path() / "runs/plain/metrics.jsonl"),
            read_file(folder.path() / "runs/smooth/metrics.jsonl"));
}

TEST(Train, AFolderThatCannotBeWrittenIsAClearError) {
  const TemporaryFolder folder;
  folder.write("runs", "a file where the folder should be");
  const auto outcome = run_host(small_run(), folder.path());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("runs: cannot be created"), std::string::npos) << outcome.err;
}

TEST(Train, SaysWhenTheRunIsTooShortForItsWarmUp) {
  const TemporaryFolder folder;
  const std::vector<std::string> words = {"train",     "--plugin", "minimal",
                                          "--dry-run", "--set",    "data.shapes.train_images=32"};
  const auto said = [&](const char* warmup) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--set", "train.epochs=2", "--set", "train.batch_size=8", "--set", warmup});
    const auto outcome = run_host(all, folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out + outcome.err;
  };
  EXPECT_NE(said("train.warmup_steps=9").find("train.warmup_steps=9 is more than the 8 steps"), std::string::npos);
  EXPECT_EQ(said("train.warmup_steps=8").find("warmup_steps"), std::string::npos);
}

}  // namespace
