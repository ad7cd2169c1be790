// A command line that is wrong is refused in one language, with the word that is wrong, before anything is read.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/expect_refusal.h"
#include "support/run_program.h"

namespace {

using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

const char* const kCrowd = R"({
  "images": [{"id": 1, "file_name": "1.png", "width": 100, "height": 100}],
  "categories": [{"id": 1, "name": "cat"}], "annotators": [{"id": "ann"}, {"id": "bob"}],
  "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20], "annotator_id": "ann"},
                  {"id": 2, "image_id": 1, "category_id": 1, "bbox": [11, 10, 20, 20], "annotator_id": "bob"}],
  "assignments": [{"image_id": 1, "annotator_id": "ann"}, {"image_id": 1, "annotator_id": "bob"}]})";

const char* const kVoc = R"(<annotation><filename>1.jpg</filename><size><width>100</width><height>100</height></size>
  <object><name>cat</name><bndbox><xmin>10</xmin><ymin>10</ymin><xmax>30</xmax><ymax>30</ymax></bndbox></object>
  </annotation>)";

struct Usage : testing::Test {
  Usage() {
    folder.write("w.json", kCrowd);
    folder.write("w/ann/1.xml", kVoc);
    folder.write("w/bob/1.xml", kVoc);
  }
  /// The first line must be exactly this.
  void says(const Words& words, const std::string& line, int code = 2) const {
    const auto outcome = run_host(words, folder.path());
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_EQ(outcome.err.substr(0, outcome.err.find('\n')), "bdc-host: " + line);
    EXPECT_EQ(outcome.out, "");
  }
  void mentions(const Words& words, const Words& parts, int code = 2) const {
    bdc::test::expect_refusal(run_host(words, folder.path()), code, parts);
  }
  TemporaryFolder folder;
};

TEST_F(Usage, ArgumentsTooManyAreNamedInTheirOrder) {
  says({"eval", "a", "b", "c", "d"}, "eval: unexpected argument 'c'");
  says({"train", "x"}, "train: unexpected argument 'x'");
  says({"version", "x"}, "version: unexpected argument 'x'");
  says({"config", "--keys", "x"}, "config: unexpected argument 'x'");
  says({"val", "RUN", "x"}, "val: unexpected argument 'x'");
  says({"plugins", "list", "x"}, "plugins list: unexpected argument 'x'");
  mentions({"--version", "x"}, {"bdc-host has no verb 'x'"});
}

TEST_F(Usage, AFlagTakesNoValue) {
  says({"train", "--dry-run=maybe"}, "--dry-run takes no value");
  says({"aggregate", "w.json", "--force=true"}, "--force takes no value");
  says({"aggregate", "w.json", "--json=3"}, "--json takes no value");
  says({"aggregate", "--help=3"}, "--help takes no value");
  says({"--help=3"}, "--help takes no value");
  says({"aggregate", "w.json", "-q5"}, "-q takes no value");
}

TEST_F(Usage, WhatIsMissingIsCalledByItsName) {
  says({"validate"}, "validate: no labels given");
  mentions({"eval", "a.json"}, {"eval: expected predictions and the truth, or predictions and --crowd LABELS"});
  says({"plan", "w.json"}, "plan: no --budget given");
  says({"predict"}, "predict: no run given");
  says({"compare"}, "compare: no runs given");
  says({"experiment"}, "experiment: no grid given");
  says({"plugins", "info"}, "plugins info: no plugin given");
  says({"convert", "weights", "a.pt"}, "convert weights: no output given");
  says({"report", "w.json"}, "report: no --output given");
  says({"plugins"}, "plugins: expected list, info or doctor");
}

TEST_F(Usage, AnOptionIsNoValueOfTheOneBefore) {
  says({"report", "w.json", "-m", "-o", "r.html"}, "-m: expected a value");
  says({"report", "w.json", "-o"}, "-o: expected a value");
  says({"aggregate", "w.json", "--output="}, "--output: expected a value");
  says({"aggregate", "w.json", "--method", "--json"}, "--method: expected a value");
  mentions({"aggregate", "w.json", "--min-score", "-1"}, {"--min-score: expected a number from 0 to 1"});
}

TEST_F(Usage, AnUnknownOptionIsToldWithTheWholeNameOfTheVerb) {
  mentions({"plugins", "list", "--foo"}, {"plugins list has no option '--foo'"});
  says({"aggregate", "w.json", "-z"}, "aggregate has no option '-z'");
  says({"aggregate", "w.json", "-force"}, "aggregate has no option '-force'; did you mean '--force'?");
}

TEST_F(Usage, FlagsSpeakTheLanguageOfOptions) {
  says({"aggregate", "w.json", "--threads", "abc"},
       "--threads: expected a whole number from 0 to 1024, found the string \"abc\"");
  says({"aggregate", "w.json", "--threads", "5000"},
       "--threads: expected a whole number from 0 to 1024, found the number 5000");
  says({"aggregate", "w.json", "--threads", "1e2"},
       "--threads: expected a whole number from 0 to 1024, found the string \"1e2\"");
  says({"aggregate", "w.json", "--timeout", "2e6"},
       "--timeout: expected a number from 1 to 1000000, found the number "
       "2000000");
  mentions({"aggregate", "w.json", "--format", "coc"}, {"--format: expected one of ", "did you mean 'coco'?"});
  says({"aggregate", "w.json", "--split", "foo"},
       "--split: expected one of train, val, test, found the string \"foo\"");
  says({"aggregate", "w.json", "--option", "max_rounds=abc"},
       "--option max_rounds: expected a whole number from 1 to 1000000, found the string \"abc\"");
  says({"aggregate", "w.json", "--option", "max_rounds"}, "--option max_rounds: expected KEY=VALUE");
  says({"plugins", "doctor", "minimal", "-o", "width"}, "--option width: expected KEY=VALUE");
  says({"aggregate", "w", "--columns", "foo"}, "--columns: expected NAME=TITLE,..., found \"foo\"");
}

TEST_F(Usage, AnOptionOfAnotherProfileIsSaidToBelongThere) {
  mentions({"aggregate", "w.json", "--option", "min_weight=0.1"},
           {"--option min_weight: belongs to profile ", "reference; absence_aware has max_rounds, tolerance"});
  const auto unknown = run_host({"aggregate", "w.json", "--option", "foo=1"}, folder.path());
  EXPECT_NE(unknown.err.find("--option foo: unknown option; known: profile, max_rounds"), std::string::npos)
      << unknown.err;
  EXPECT_EQ(unknown.err.find("min_weight"), std::string::npos) << unknown.err;
}

TEST_F(Usage, FilesMustHaveANameAndBeFiles) {
  says({"validate", ""}, "labels: expected the name of a file or folder, found none");
  says({"aggregate", "w.json", "-o", ""}, "--output: expected the name of a file or folder, found none");
  says({"report", "w.json", "-o", ""}, "--output: expected the name of a file, found none");
  says({"report", "w.json", "-o", "w"}, "w: expected a file, found a folder");
  says({"aggregate", "w.json", "--annotators", "w"}, "w: expected a file, found a folder");
}

TEST_F(Usage, LabelsDoNotJudgeThemselves) {
  mentions({"aggregate", "w", "--truth", "w/ann/1.xml"}, {"--truth w/ann/1.xml: is one of the labels"});
  mentions({"aggregate", "w.json", "--truth", "./w.json"}, {"--truth ./w.json: is one of the labels"});
}

TEST_F(Usage, OnlyAMethodThatEstimatesExistenceCutsByIt) {
  says({"aggregate", "w.json", "-m", "mv", "-o", "o.json", "--min-existence", "0.5"},
       "--min-existence: mv does not estimate existence; use bdc");
  says({"aggregate", "w.json", "--option", "profile=paper", "-o", "o.json", "--min-existence", "0.5"},
       "--min-existence: paper does not estimate existence; use absence_aware");
  EXPECT_FALSE(fs::exists(folder.path() / "o.json"));
}

TEST_F(Usage, ConfigChecksHooksWithoutADetector) {
  mentions({"config", "--hook", "foo"}, {"foo"}, 5);
  mentions({"config", "--hook", "bdc:foo=1"}, {"--hook: hooks.bdc.options.foo: unknown option"}, 3);
  EXPECT_EQ(run_host({"config", "--hook", "bdc"}, folder.path()).exit_code, 0);
}

TEST_F(Usage, GridsAndCrowdsNamePlacesAsConfigsDo) {
  folder.write("g.json", R"({"data": [], "crowds": [], "methods": []})");
  mentions({"experiment", "g.json"}, {"g.json: data: expected"}, 3);
  folder.write("m.json", R"({"data": [{"name": "d", "truth": "w.json"}], "crowds": [{"name": "c", "preset": "voc-mix"}],
                             "methods": [{"name": "m", "method": "bdc", "options": {"max_rounds": "abc"}}]})");
  mentions({"experiment", "m.json"}, {"m.json: methods.m.options.max_rounds: expected a whole number from 1"}, 3);
  folder.write("c.json", R"({"groups": [{"skill": "expert", "coverage": 2}]})");
  mentions({"synth", "w.json", "-c", "c.json", "-o", "o.json"},
           {"c.json: groups[0].coverage: expected a number from ", "found the number 2"}, 3);
  folder.write("x.json", "<?xml version=\"1.0\"?><a/>");
  mentions({"experiment", "x.json"}, {"x.json: expected JSON, found XML"}, 3);
  mentions({"annotators", "x.json"},
           {"x.json: expected a file that `aggregate --annotators` wrote, found no JSON (line 1)"}, 4);
  mentions({"eval", "x.json", "x.json"}, {"expected Pascal VOC with the root <annotation>, found <a>"}, 4);
}

TEST_F(Usage, ASizesFileOfOneColumnIsShownAsItIs) {
  folder.write("sizes.csv", "<?xml?>\n");
  const auto outcome = run_host({"aggregate", "w.json", "--sizes", "sizes.csv"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("found \"<?xml?>\"\n"), std::string::npos) << outcome.err;
}

TEST_F(Usage, HelpSaysWhatOptionsDo) {
  const auto help = [&](const Words& words) { return run_host(words, folder.path()).out; };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin: " << text;
  };
  has(help({"aggregate", "--help"}), "run N processes on this machine");
  has(help({"aggregate", "--help"}), "longest that processes wait for one another, seconds");
  has(help({"aggregate", "--help"}), "where names come from: assignee, file, folder or key");
  has(help({"predict", "--help"}), "replace files that `predict` did not write");
  has(help({"report", "--help"}), "replace a file that is not a report of ours");
  has(help({"convert", "weights", "--help"}), "that bdc-host did not write");
  has(help({"--help"}), "10 ranks lost contact or disagree");
  has(help({"report", "--help"}), "Examples:\n");
  const std::string bdc = help({"plugins", "info", "bdc"});
  has(bdc, "trains on the consensus of bdc, which learns how each annotator errs");
  has(bdc, "which model of the annotators");
  has(help({"aggregate", "--methods"}), "which model of the annotators");
}

}  // namespace
