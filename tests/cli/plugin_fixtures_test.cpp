// Plugins that break the contract: what the host and the doctor say about each.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

using bdc::test::Outcome;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

std::string fixture(const std::string& name) {
  return std::string(BDC_FIXTURES) + "/" + name + ".so";
}

struct Refused {
  const char* name;
  int exit_code;
  std::vector<std::string> says;
};

void PrintTo(const Refused& c, std::ostream* out) {
  *out << c.name;
}

class RefusedPlugin : public testing::TestWithParam<Refused> {};

/// Training with the plugin ends with the message, cleanly.
TEST_P(RefusedPlugin, TrainingSaysWhyAndExitsCleanly) {
  const TemporaryFolder folder;
  const auto outcome = run_host({"--plugin", GetParam().name, "--plugin-path", BDC_FIXTURES}, folder.path());
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.exit_code, GetParam().exit_code) << outcome.err;
  for (const auto& text : GetParam().says)
    EXPECT_NE(outcome.err.find(text), std::string::npos) << "missing: " << text << "\nin: " << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, RefusedPlugin,
    testing::Values(Refused{"api_1",
                            6,
                            {"api_1.so", "built for plugin API 1, this host speaks API 2",
                             "advice: build the plugin again with the headers of this host's version "
                             "(find_package(bdc)); docs/plugins.md says what changed\n",
                             "host:   API 2.0", "plugin: API 1.1"}},
                    Refused{"wrong_api_major",
                            6,
                            {"wrong_api_major.so", "built for plugin API 99, this host speaks API 2",
                             "advice:", "host:   API 2.", "plugin: API 99.0"}},
                    Refused{"newer_minor",
                            6,
                            {"needs plugin API 2.99, newer than this host's 2.0", "advice: update bdc-host",
                             "host:   ", "plugin: "}},
                    Refused{"other_torch",
                            6,
                            {"built with LibTorch 2.9.1 (cpu), this host runs LibTorch", "CMAKE_PREFIX_PATH",
                             "host:   ", "plugin: API 2.0, LibTorch 2.9.1"}},
                    Refused{"missing_descriptor", 6, {"exports no bdc_plugin_descriptor", "BDC_EXPORT_DETECTOR"}},
                    Refused{"lying_descriptor", 6, {"built with LibTorch 2.9.1"}},
                    Refused{
                        "factory_throws", 7, {"plugin 'factory_throws' threw in its constructor: no weights today"}},
                    Refused{"factory_null", 7, {"plugin 'factory_null': its factory returned null", "advice"}},
                    Refused{"throws_in_loss", 7, {"plugin 'throws_in_loss' threw in loss: the loss is out of order"}},
                    Refused{"nan_loss", 9, {"not finite", "non_finite.json"}}),
    [](const auto& given) { return given.param.name; });

TEST(NanLoss, TheAdviceIsACommandThatTheProgramTakes) {
  const TemporaryFolder folder;
  const auto first = run_host({"--plugin", "nan_loss", "--plugin-path", BDC_FIXTURES}, folder.path());
  EXPECT_NE(first.err.find("bdc-host train --config runs/nan_loss-1/config.json --set output.name= --set "
                           "train.learning_rate="),
            std::string::npos)
      << first.err;
  const auto second = run_host({"train", "--config", "runs/nan_loss-1/config.json", "--set", "output.name=", "--set",
                                "train.learning_rate=1e-05", "--plugin-path", BDC_FIXTURES},
                               folder.path());
  EXPECT_EQ(second.exit_code, 9) << "a new run, with the same loss: " << second.err;
  EXPECT_NE(second.err.find("runs/nan_loss-2/non_finite.json"), std::string::npos) << second.err;
}

nlohmann::json examine(const std::string& name, int expected_exit, const std::vector<std::string>& more = {}) {
  const TemporaryFolder folder;
  std::vector<std::string> words = {"plugins", "doctor", fixture(name), "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = run_host(words, folder.path());
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.exit_code, expected_exit) << outcome.out << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

std::string reason_of(const nlohmann::json& report, const std::string& check) {
  for (const auto& c : report["checks"]) {
    if (c["name"] == check) return c["status"].get<std::string>() + ": " + c["reason"].get<std::string>();
  }
  return "no such check";
}

/// Exactly `check` fails, all others pass.
void expect_only(const std::string& name, const std::string& check, const std::string& reason) {
  const auto report = examine(name, 1);
  EXPECT_EQ(report["healthy"], false);
  for (const auto& c : report["checks"]) {
    EXPECT_EQ(c["status"], c["name"] == check ? "FAIL" : "pass") << c.dump();
  }
  EXPECT_NE(reason_of(report, check).find(reason), std::string::npos) << reason_of(report, check);
}

TEST(Doctor, PassesTheExampleDetector) {
  const TemporaryFolder folder;
  const auto outcome = run_host({"plugins", "doctor", "minimal"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("16 of 16 checks passed"), std::string::npos) << outcome.out;
}

TEST(Doctor, FindsADetectorThatIgnoresWeights) {
  expect_only("ignores_weights", "weight 0", "at weight 0 a target's class still has 100 % of its pull");
}

TEST(Doctor, PassesADetectorWhoseBoxLossIsAnAbsoluteDistance) {
  const auto report = examine("l1_boxes", 0);
  EXPECT_EQ(reason_of(report, "weight 0"), "pass: ") << report.dump(2);
}

TEST(Doctor, FindsADetectorThatDoesNotDivideByTheCountsOfAllRanks) {
  expect_only("wrong_counts", "ranks", "some sum is not divided by SharedCounts::divisor");
}

TEST(Doctor, TellsOfADetectorThatDividesByItsOwnCountsAndDoesNotKnowOfRanks) {
  const auto report = examine("own_counts", 0);
  EXPECT_EQ(report["healthy"], true);
  EXPECT_NE(reason_of(report, "ranks").find("note: in several processes, what is learnt from a batch differs by "),
            std::string::npos)
      << report.dump(2);
  const TemporaryFolder folder;
  const auto words = run_host({"plugins", "doctor", fixture("own_counts")}, folder.path());
  EXPECT_NE(words.out.find("derive from SharesBatches and divide by its counts"), std::string::npos) << words.out;
  // What is divided by images alone needs no counts.
  EXPECT_EQ(reason_of(examine("counts_images", 0), "ranks"), "pass: ");
}

TEST(Doctor, FindsADetectorThatIsNotDeterministic) {
  expect_only("non_deterministic", "deterministic", "two builds with the same seed differ in");
}

TEST(Doctor, FindsADetectorThatBreaksOneHotEquivalence) {
  expect_only("breaks_one_hot", "one-hot is hard", "hard_loss is");
}

TEST(Doctor, ReportsTheSignalOfAConstructorThatCrashes) {
  const auto report = examine("constructor_segfaults", 7);
  EXPECT_NE(reason_of(report, "builds").find("FAIL: crashed: signal 11 (Segmentation fault)"), std::string::npos)
      << report.dump(2);
  EXPECT_EQ(reason_of(report, "loads"), "pass: ");
  EXPECT_NE(reason_of(report, "forward").find("not run"), std::string::npos);
}

class DoctorGivesUp : public testing::TestWithParam<const char*> {};

TEST_P(DoctorGivesUp, AfterTheTimeout) {
  const std::string seconds = "20";  // starting and loading count, too, on a machine that may be busy
  const auto report = examine(GetParam(), 7, {"--timeout", seconds});
  EXPECT_NE(reason_of(report, "builds").find("did not finish within " + seconds + " s"), std::string::npos)
      << report.dump(2);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, DoctorGivesUp, testing::Values("factory_hangs", "factory_closes_pipe_and_hangs"),
                         [](const auto& fixture) { return std::string(fixture.param); });

TEST(Doctor, ReportsAFactoryThatThrowsAndOneThatGivesNull) {
  EXPECT_NE(reason_of(examine("factory_throws", 7), "builds").find("no weights today"), std::string::npos);
  EXPECT_NE(reason_of(examine("factory_null", 7), "builds").find("returned null"), std::string::npos);
}

TEST(Doctor, ReportsAPluginForAnotherLibTorchWithoutLoadingIt) {
  EXPECT_NE(reason_of(examine("other_torch", 6), "loads").find("LibTorch 2.9.1"), std::string::npos);
  EXPECT_NE(reason_of(examine("wrong_api_major", 6), "loads").find("API 99"), std::string::npos);
  EXPECT_NE(reason_of(examine("api_1", 6), "loads").find("built for plugin API 1, this host speaks API 2"),
            std::string::npos);
}

TEST(Doctor, ReportsDetectionsWithLabelsThatAreNoClasses) {
  EXPECT_NE(reason_of(examine("wrong_labels", 7), "detections").find("labels must be in 0..number of classes - 1"),
            std::string::npos);
}

TEST(Doctor, AFileThatIsNoPluginIsExitFive) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_host({"plugins", "doctor", "./gone.so"}, folder.path()).exit_code, 5);
}

TEST(Doctor, ABuiltInHookIsCalledSoAndNeedsNoDoctor) {
  const TemporaryFolder folder;
  const auto built_in = run_host({"plugins", "doctor", "bdc"}, folder.path());
  EXPECT_EQ(built_in.exit_code, 5);
  EXPECT_NE(built_in.err.find("'bdc' is a built-in hook, a part of bdc-host, and needs no doctor"), std::string::npos)
      << built_in.err;
}

TEST(Doctor, PassesOptionsOnAndChecksThem) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_host({"plugins", "doctor", "minimal", "-o", "width=4"}, folder.path()).exit_code, 0);
  const auto outcome = run_host({"plugins", "doctor", "minimal", "-o", "width=wide"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.out.find("options.width: expected a whole number"), std::string::npos) << outcome.out;
}

struct HookCase {
  const char* name;
  const char* stage;
  std::vector<std::string> says;
};
void PrintTo(const HookCase& c, std::ostream* out) {
  *out << c.name;
}

class FaultyHook : public testing::TestWithParam<HookCase> {};

TEST_P(FaultyHook, IsReportedWithItsNameAndStage) {
  const TemporaryFolder folder;
  const auto outcome =
      run_host({"--plugin", "minimal", "--plugin-path", BDC_FIXTURES, "--hook",
                std::string("throwing_hook:stage=") + GetParam().stage, "--set", "data.shapes.train_images=4", "--set",
                "data.shapes.test_images=2", "--set", "train.epochs=1"},
               folder.path());
  EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
  for (const auto& text : GetParam().says) EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    Stages, FaultyHook,
    testing::Values(
        HookCase{"before_fit", "before_fit", {"hook 'throwing_hook' threw in before_fit: thrown on purpose"}},
        HookCase{"before_loss", "before_loss", {"hook 'throwing_hook' threw in before_loss: thrown on purpose"}},
        HookCase{"after_epoch", "after_epoch", {"hook 'throwing_hook' threw in after_epoch: thrown on purpose"}},
        HookCase{"bad_targets",
                 "bad_targets",
                 {"hook 'throwing_hook' threw in before_loss: targets: class_probs must sum to 1"}}),
    [](const auto& given) { return given.param.name; });

}  // namespace
