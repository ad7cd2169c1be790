// Every way a config can be wrong is an error that names the file, the key's path, what was expected and the nearest
// key.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/expect_refusal.h"

namespace {

using bdc::test::run_host;
using bdc::test::TemporaryFolder;

struct Case {
  const char* name;
  std::string config;  // written to c.json
  std::vector<std::string> words;
  int exit_code;
  std::vector<std::string> says;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

const std::vector<std::string> kFile = {"-c", "c.json"};

class BrokenConfig : public testing::TestWithParam<Case> {};

TEST_P(BrokenConfig, HasItsOwnMessageAndExitCode) {
  const TemporaryFolder folder;
  folder.write("c.json", GetParam().config);
  std::vector<std::string> words = {"config"};
  words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
  const auto outcome = run_host(words, folder.path());
  bdc::test::expect_refusal(outcome, GetParam().exit_code, GetParam().says);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BrokenConfig,
    testing::Values(
        Case{"no_file", "{}", {"-c", "gone.json"}, 3, {"gone.json: no such file"}},
        Case{"folder", "{}", {"-c", "."}, 3, {"is a folder, expected a JSON file"}},
        Case{"not_json", "{\n\"train\": {,}\n}", kFile, 3, {"c.json", "is not valid JSON", "line 2"}},
        Case{"list", "[1]", kFile, 3, {"c.json", "expected an object at the top"}},
        Case{"unknown_top", R"({"trian": {}})", kFile, 3, {"c.json: trian: unknown key", "did you mean 'train'?"}},
        Case{"unknown_key",
             R"({"train": {"epoch": 3}})",
             kFile,
             3,
             {"c.json: train.epoch: unknown key", "did you mean 'train.epochs'?"}},
        Case{"wrong_section",
             R"({"data": {"learning_rate": 0.1}})",
             kFile,
             3,
             {"data.learning_rate: unknown key", "did you mean 'train.learning_rate'?"}},
        Case{"wrong_type",
             R"({"train": {"epochs": "ten"}})",
             kFile,
             3,
             {"c.json: train.epochs: expected a whole number", "the string \"ten\""}},
        Case{"float_for_int",
             R"({"train": {"epochs": 2.5}})",
             kFile,
             3,
             {"train.epochs: expected a whole number", "2.5"}},
        Case{"out_of_range",
             R"({"train": {"epochs": 0}})",
             kFile,
             3,
             {"train.epochs: expected a whole number from 1 to 100000", "the number 0"}},
        Case{"not_a_choice",
             R"({"train": {"schedule": "cosinus"}})",
             kFile,
             3,
             {"train.schedule: expected one of cosine, linear, step, constant"}},
        Case{"section_number", R"({"train": 5})", kFile, 3, {"c.json: train: expected an object", "the number 5"}},
        Case{"null_where_not_allowed",
             R"({"train": {"epochs": null}})",
             kFile,
             3,
             {"train.epochs: expected a whole number from 1 to 100000, found null"}},
        Case{"huge_number",
             R"({"train": {"learning_rate": 1e999}})",
             kFile,
             3,
             {"c.json: holds a number out of range: '1e999'"}},
        Case{"huge_integer",
             R"({"train": {"seed": 18446744073709551615}})",
             kFile,
             3,
             {"train.seed: expected a whole number"}},
        Case{"hooks_object", R"({"hooks": {"name": "bdc"}})", kFile, 3, {"c.json: hooks: expected a list"}},
        Case{"hook_no_name", R"({"hooks": [{"options": {}}]})", kFile, 3, {"hooks[0]: has no \"name\""}},
        Case{"hook_twice",
             R"({"hooks": [{"name": "a"}, {"name": "a"}]})",
             kFile,
             3,
             {"hooks.a.name: hook 'a' is in the list twice"}},
        Case{"hook_priority",
             R"({"hooks": [{"name": "a", "priority": 101}]})",
             kFile,
             3,
             {"hooks.a.priority: expected a whole number from 0 to 100"}},
        Case{"hook_unknown_key",
             R"({"hooks": [{"name": "a", "option": {}}]})",
             kFile,
             3,
             {"hooks.a.option: unknown key", "did you mean 'options'?"}},
        Case{"option_list",
             R"({"plugin": {"options": {"width": [1]}}})",
             kFile,
             3,
             {"plugin.options.width: expected true or false, a number or a string, found an array"}},
        Case{"base_itself", R"({"_base_": "c.json"})", kFile, 3, {"_base_ leads back to itself"}},
        Case{"base_gone", R"({"_base_": "gone.json"})", kFile, 3, {"c.json: _base_: gone.json: no such file"}},
        Case{"base_number", R"({"_base_": 7})", kFile, 3, {"c.json: _base_: expected a file name", "the number 7"}},
        Case{"key_twice", R"({"train": {"epochs": 1, "epochs": 2}})", kFile, 3, {"key 'epochs' appears twice"}},
        Case{"set_unknown",
             "{}",
             {"--set", "train.epochz=3"},
             3,
             {"--set: train.epochz: unknown key", "did you mean 'train.epochs'?"}},
        Case{"set_beginning",
             "{}",
             {"--set", "train.batch=4"},
             3,
             {"--set: train.batch: unknown key", "did you mean 'train.batch_size'?"}},
        Case{"set_initials",
             "{}",
             {"--set", "train.lr=0.1"},
             3,
             {"--set: train.lr: unknown key", "did you mean 'train.learning_rate'?"}},
        Case{"set_without_section",
             "{}",
             {"--set", "batch=4"},
             3,
             {"--set: batch: unknown key", "did you mean 'train.batch_size'?"}},
        Case{"set_type",
             "{}",
             {"--set", "train.epochs=many"},
             3,
             {"--set: train.epochs: expected a whole number", "\"many\""}},
        Case{"set_form",
             "{}",
             {"--set", "train.epochs"},
             2,
             {"--set train.epochs: expected KEY=VALUE, such as train.epochs=3"}},
        Case{"set_empty", "{}", {"--set", "=3"}, 2, {"--set =3: expected KEY=VALUE"}},
        Case{"set_dots", "{}", {"--set", "..=3"}, 3, {"unknown key"}},
        Case{"hook_form",
             "{}",
             {"--hook", "a:b"},
             2,
             {"--hook \"a:b\": expected NAME[:KEY=VALUE,...], found \"b\" after the name"}},
        Case{"hook_colon", "{}", {"--hook", "bdc:"}, 2, {"--hook \"bdc:\": expected NAME[:KEY=VALUE,...]"}},
        Case{"hook_comma",
             "{}",
             {"--hook", "bdc:warmup=1,"},
             2,
             {"--hook \"bdc:warmup=1,\": expected NAME[:KEY=VALUE,...]"}},
        Case{"hook_place",
             "{}",
             {"--hook", "bdc:priority=200"},
             3,
             {"--hook: hooks.bdc.priority: expected a whole number"}},
        Case{"format_key",
             "{}",
             {"--set", "data.format=coc"},
             3,
             {"--set: data.format: expected one of \"\", ", "found the string \"coc\"; did you mean 'coco'?"}},
        Case{"split_key",
             "{}",
             {"--set", "data.split=foo"},
             3,
             {"--set: data.split: expected one of \"\", train, val, test, found the string \"foo\""}},
        Case{"xml_config", "<?xml version=\"1.0\"?>", kFile, 3, {"c.json: expected JSON, found XML"}},
        Case{"cut_off_config",
             "{\"train\": {",
             kFile,
             3,
             {"c.json: is not valid JSON: line 1, column", "the file ends too early"}},
        Case{"hook_option_twice", "{}", {"--hook", "bdc:warmup=1,warmup=2"}, 2, {"'warmup' is given twice"}},
        Case{"plugin_option",
             "{}",
             {"--plugin", "minimal", "--set", "plugin.options.widht=8"},
             3,
             {"plugin.options.widht: unknown option", "did you mean 'width'?"}},
        Case{"plugin_option_range",
             "{}",
             {"--plugin", "minimal", "--set", "plugin.options.width=1"},
             3,
             {"plugin.options.width: expected a whole number from 4 to 256", "the number 1"}},
        Case{"plugin_option_type",
             "{}",
             {"--plugin", "minimal", "--set", "plugin.options.width=wide"},
             3,
             {"plugin.options.width: expected a whole number", "\"wide\""}},
        Case{"hook_option",
             "{}",
             {"--plugin", "minimal", "--hook", "label_smoothing:shar=0.1"},
             3,
             {"hooks.label_smoothing.options.shar: unknown option", "did you mean 'share'?"}},
        Case{"plugin_option_in_file",
             R"({"plugin": {"name": "minimal", "options": {"widht": 8}}})",
             kFile,
             3,
             {"c.json: plugin.options.widht: unknown option", "did you mean 'width'?"}},
        Case{"plugin_option_by_set_over_a_file",
             R"({"plugin": {"name": "minimal", "options": {"width": 8}}})",
             {"-c", "c.json", "--set", "plugin.options.width=1"},
             3,
             {"--set: plugin.options.width: expected a whole number from 4 to 256"}},
        Case{"hook_option_in_file",
             R"({"plugin": {"name": "minimal"}, "hooks": [{"name": "label_smoothing", "options": {"share": "x"}}]})",
             kFile,
             3,
             {"c.json: hooks.label_smoothing.options.share: expected a number"}},
        Case{"hook_option_of_a_built_in_hook",
             R"({"plugin": {"name": "minimal"}, "hooks": [{"name": "bdc", "options": {"warmpu": 1}}]})",
             kFile,
             3,
             {"c.json: hooks.bdc.options.warmpu: unknown option", "did you mean 'warmup'?"}},
        Case{"no_such_hook",
             "{}",
             {"--plugin", "minimal", "--hook", "label_smothing"},
             5,
             {"no hook is named 'label_smothing'", "did you mean 'label_smoothing'?"}},
        Case{"input_size",
             "{}",
             {"--plugin", "minimal", "--set", "train.input_size=100"},
             3,
             {"train.input_size: is 100", "a multiple of 8"}},
        Case{"unknown_flag", "{}", {"--epochs", "3"}, 2, {"--epochs"}}),
    [](const auto& given) { return given.param.name; });

TEST(Config, BasesAreMergedDeeplyAndTheFileWins) {
  const TemporaryFolder folder;
  folder.write("base/common.json", R"({"train": {"epochs": 50, "seed": 7}, "hooks": [{"name": "mv"}]})");
  folder.write("base/more.json", R"({"_base_": "common.json", "train": {"seed": 8, "momentum": 0.5}})");
  folder.write("c.json", R"({
    // comments are welcome
    "_base_": ["base/more.json"],
    "train": {"momentum": 0.8} /* here too */
  })");
  const auto outcome =
      run_host({"config", "-c", "c.json", "--set", "train.warmup_steps=0", "--hook", "bdc:warmup=7,profile=paper"},
               folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto config = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(config["train"]["epochs"], 50);
  EXPECT_EQ(config["train"]["seed"], 8);
  EXPECT_EQ(config["train"]["momentum"], 0.8);
  EXPECT_EQ(config["train"]["warmup_steps"], 0);
  EXPECT_EQ(config["hooks"].size(), 2u);
  EXPECT_EQ(config["hooks"][1]["options"]["warmup"], 7);
  EXPECT_EQ(config["hooks"][1]["options"]["profile"], "paper");
  EXPECT_FALSE(config.contains("_base_"));
}

TEST(Config, WhatIsPrintedReadsBackAsTheSameConfig) {
  const TemporaryFolder folder;
  const auto first = run_host({"config", "--plugin", "minimal", "--set", "train.epochs=3"}, folder.path());
  ASSERT_EQ(first.exit_code, 0) << first.err;
  folder.write("printed.json", first.out);
  const auto second = run_host({"config", "-c", "printed.json"}, folder.path());
  EXPECT_EQ(first.out, second.out);
  const auto config = nlohmann::json::parse(first.out);
  EXPECT_EQ(config["train"]["optimizer"], "adamw");  // the plugin's own recommendation
  EXPECT_EQ(config["plugin"]["options"]["width"], 16);
}

}  // namespace
