// What `bdc-host report` takes, what it refuses, and what it says of what is missing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using nlohmann::json;

/// Annotators 1 to n on twelve images of one object each; the last one draws every second object alone.
json crowd(int n = 4) {
  json out = {{"categories", {{{"id", 1}, {"name", "cat"}}, {{"id", 2}, {"name", "dog"}}}},
              {"annotators", json::array()},
              {"annotations", json::array()}};
  for (int k = 1; k <= n; ++k) out["annotators"].push_back({{"id", k}, {"name", "who" + std::to_string(k)}});
  int id = 0;
  for (int i = 0; i < 12; ++i) {
    out["images"].push_back({{"id", i}, {"file_name", std::to_string(i) + ".png"}, {"width", 200}, {"height", 100}});
    for (int k = 1; k <= n; ++k) {
      out["assignments"].push_back({{"image_id", i}, {"annotator_id", k}});
      if (k == n && n > 1 && i % 2 == 0) continue;
      out["annotations"].push_back({{"id", id++},
                                    {"image_id", i},
                                    {"category_id", 1 + i % 2},
                                    {"bbox", {10 + 5 * i + k, 20 + k, 40, 30 + k}},
                                    {"annotator_id", k}});
    }
  }
  return out;
}

class ReportInputs : public testing::Test {
 protected:
  TemporaryFolder folder;
  void SetUp() override { folder.write("crowd.json", crowd().dump()); }
  bdc::test::Outcome host(std::vector<std::string> words) { return run_host(std::move(words), folder.path()); }
  [[nodiscard]] std::string text(const std::string& name) const { return read_file(folder.path() / name); }
  /// Runs the verb and expects its exit code and words in its messages.
  void says(const std::vector<std::string>& words, int code, const std::string& part) {
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << "missing: " << part << "\n" << outcome.err;
  }
  /// A run folder without data that can be opened.
  void write_run(const std::string& metrics) {
    fs::create_directories(folder.path() / "run");
    folder.write("run/config.json",
                 R"({"plugin": {"name": "minimal"}, "data": {"source": "files", "labels": "gone"}})");
    if (!metrics.empty()) folder.write("run/metrics.jsonl", metrics);
  }
  void write_experiment(const json& table) {
    fs::create_directories(folder.path() / "exp");
    folder.write("exp/table.json", table.dump());
  }
};

json experiment_table() {
  return {{"format", "bdc_experiment"},
          {"version", 1},
          {"name", "grid"},
          {"rows",
           {{{"data", "shapes"},
             {"crowd", "mix"},
             {"detector", "min"},
             {"method", "bdc"},
             {"done", 1},
             {"seeds", 1},
             {"numbers", {{"test AP", {{"mean", 0.5}, {"deviation", 0.0}, {"values", {0.5}}}}}}}}}};
}

TEST_F(ReportInputs, FilesOfAFolderThatIsReadAreNeverReplaced) {
  fs::create_directories(folder.path() / "labels");
  const std::string labels = crowd().dump();
  folder.write("labels/anna.json", labels);
  write_run("{\"epoch\": 1, \"train/loss\": 2.0}\n");
  folder.write("run/results.csv", "epoch\n1\n");
  write_experiment(experiment_table());
  const std::string table = text("exp/table.json"), config = text("run/config.json");
  says({"report", "labels", "-o", "labels/anna.json"}, 2, "labels/anna.json: would overwrite a file in labels");
  says({"report", "run", "-o", "run/config.json"}, 2, "nothing was changed");
  says({"report", "run", "-o", "x.html", "--relabel-csv", "run/results.csv"}, 2, "would overwrite a file in run");
  says({"report", "exp", "-o", "exp/table.json"}, 2, "would overwrite a file in exp");
  fs::create_symlink("../old.json", folder.path() / "labels/link.json");
  folder.write("old.json", labels);
  says({"aggregate", "labels", "-o", "old.json"}, 2, "would overwrite a file in labels");  // read through a link
  says({"aggregate", "labels", "-o", "labels/anna.json"}, 2, "would overwrite a file in labels");
  says({"convert", "labels", "labels/anna.json"}, 2, "would overwrite a file in labels");
  says({"validate", "labels", "--fix", "labels/anna.json"}, 2, "would overwrite a file in labels");
  fs::create_symlink("run/config.json", folder.path() / "link.html");
  folder.write("run/notes.html", "my own");
  says({"report", "run", "-o", "link.html"}, 2, "would overwrite a file in run");  // whatever the link is called
  says({"report", "run", "-o", "run/notes.html"}, 2, "would overwrite a file in run");
  EXPECT_EQ(text("run/notes.html"), "my own");
  EXPECT_EQ(text("labels/anna.json"), labels);
  EXPECT_EQ(text("run/config.json"), config);
  EXPECT_EQ(text("run/results.csv"), "epoch\n1\n");
  EXPECT_EQ(text("exp/table.json"), table);
  EXPECT_FALSE(fs::exists(folder.path() / "x.html"));
}

TEST_F(ReportInputs, AReportMayLieInTheFolderItIsMadeOfAndBeReplaced) {
  write_experiment(experiment_table());
  ASSERT_EQ(host({"convert", "crowd.json", "labels/", "--to", "voc"}).exit_code, 0);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(host({"report", "exp", "-o", "exp/report.html"}).exit_code, 0);
    const auto outcome = host({"report", "labels", "-o", "labels/r.html", "--relabel-csv", "labels/again.csv"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_EQ(host({"report", "labels", "-o", "labels/again.csv"}).exit_code, 2) << "a table is no page";
}

TEST_F(ReportInputs, WhoIsWhoIsToldByNamesWhereIdsMeanOthers) {
  json labels = crowd();
  ASSERT_EQ(host({"aggregate", "crowd.json", "-q", "--annotators", "a.json"}).exit_code, 0);
  std::swap(labels["annotators"][0]["name"], labels["annotators"][3]["name"]);
  folder.write("swapped.json", labels.dump());
  says({"report", "swapped.json", "--annotators", "a.json", "-o", "r.html"}, 0, "annotators are matched by name");
  says({"aggregate", "swapped.json", "--prior", "a.json", "-o", "c.json"}, 0, "annotators are matched by name");
  labels["annotators"][3]["name"] = "stranger";
  folder.write("other.json", labels.dump());
  const std::string where = "a.json: /annotators/0/name: expected \"who4\"";
  says({"report", "other.json", "--annotators", "a.json", "-o", "other.html"}, 4, where);
  says({"aggregate", "other.json", "--prior", "a.json", "-o", "other.json.out"}, 4, where);
  EXPECT_FALSE(fs::exists(folder.path() / "other.html"));
}

TEST_F(ReportInputs, AnnotatorsThatAreNotKnownAreCounted) {
  folder.write("few.json", crowd(3).dump());
  ASSERT_EQ(host({"aggregate", "few.json", "-q", "--annotators", "a.json"}).exit_code, 0);
  says({"report", "crowd.json", "--annotators", "a.json", "-o", "r.html"}, 0, "has 3 of the 4 annotators");
  EXPECT_NE(text("r.html").find("has 3 of the 4 annotators"), std::string::npos);
  EXPECT_NE(text("r.html").find("<p>3 annotators, best first"), std::string::npos);
  json others = crowd();
  for (auto& a : others["annotators"]) a = {{"id", a["id"].get<int>() + 50}};
  for (const char* list : {"annotations", "assignments"}) {
    for (auto& a : others[list]) a["annotator_id"] = a["annotator_id"].get<int>() + 50;
  }
  folder.write("others.json", others.dump());
  says({"report", "others.json", "--annotators", "a.json", "-o", "none.html"}, 4, "found none of them");
}

TEST_F(ReportInputs, DamagedMetricsAreNoted) {
  write_run("");
  says({"report", "run", "-o", "r.html"}, 0, "metrics.jsonl is missing");
  write_run("{\"epoch\": 1, \"tra");
  says({"report", "run", "-o", "r.html"}, 0, "metrics.jsonl holds no record of an epoch that can be read");
  EXPECT_NE(text("r.html").find("metrics.jsonl holds no record"), std::string::npos);
  write_run("{\"epoch\": 1, \"train/loss\": 2.0}\n{\"epoch\": \"two\"}\n");
  says({"report", "run", "-o", "r.html"}, 0, "1 of 2 lines cannot be read and is left out");
  write_run("{\"epoch\": 1, \"train/loss\": \"low\", \"test/AP\": 0.5}\n");
  says({"report", "run", "-o", "r.html"}, 0, "1 value is");
}

TEST_F(ReportInputs, ADamagedTableOfAnExperimentNamesThePlace) {
  const auto refused = [&](const std::string& pointer, const json& value, const std::string& message) {
    json table = experiment_table();
    table[json::json_pointer(pointer)] = value;
    write_experiment(table);
    says({"report", "exp", "-o", "r.html"}, 4, message);
  };
  refused("/version", 99, "exp/table.json: /version: expected version 1");
  refused("/format", "other", "exp/table.json: /format: expected \"bdc_experiment\"");
  refused("/rows/0", {{"data", 1}}, "exp/table.json: /rows/0/data: expected a name, found the number 1");
  refused("/rows/0/numbers/test AP/mean", "abc", "/rows/0/numbers/test AP/mean: expected a number");
  refused("/rows", 3, "/rows: expected a list of rows");
  folder.write("exp/table.json", experiment_table().dump().substr(0, 60));
  says({"report", "exp", "-o", "r.html"}, 4, "exp/table.json: is not valid JSON");
  write_experiment(experiment_table());
  EXPECT_EQ(host({"report", "exp", "-o", "r.html"}).exit_code, 0);
}

TEST_F(ReportInputs, LabelsOfACrowdAreNoConsensus) {
  says({"report", "crowd.json", "--consensus", "crowd.json", "-o", "r.html"}, 4, "aggregate -o");
}

TEST_F(ReportInputs, TwoThingsOfOneNameAreRefused) {
  ASSERT_EQ(host({"aggregate", "crowd.json", "-q", "-o", "c.json"}).exit_code, 0);
  says({"report", "crowd.json", "--consensus", "a=c.json", "--consensus", "a=c.json", "-o", "r.html"}, 2,
       "two are called 'a'");
  says({"report", "crowd.json", "-m", "mv", "-m", "mv", "-o", "r.html"}, 2, "named twice");
}

TEST_F(ReportInputs, MessagesSayWhatAReportCanBeMadeOf) {
  fs::create_directories(folder.path() / "empty");
  says({"report", "empty", "-o", "r.html"}, 4, "expected labels, the folder of a run (it has a config.json)");
  write_run("");
  write_experiment(experiment_table());
  says({"report", "run", "exp", "-o", "r.html"}, 2, "a report shows one of them");
  says({"report", "crowd.json", "--images", "empty", "-o", "r.html"}, 4, "is --images the right folder?");
  json plain = crowd();
  plain["annotators"] = plain["annotations"] = plain["assignments"] = json::array();
  folder.write("plain.json", plain.dump());
  says({"report", "plain.json", "-o", "r.html"}, 4, "--annotator");
  json other = crowd();
  other["categories"][0]["name"] = "lorry";
  folder.write("other.json", other.dump());
  ASSERT_EQ(host({"aggregate", "other.json", "-q", "--annotators", "a.json"}).exit_code, 0);
  const auto alien = host({"report", "crowd.json", "--annotators", "a.json", "-o", "r.html"});
  EXPECT_EQ(alien.exit_code, 4);
  EXPECT_EQ(alien.err.find("a prior"), std::string::npos) << alien.err;
}

TEST_F(ReportInputs, OneAnnotatorOrNoBoxesIsSaid) {
  folder.write("one.json", crowd(1).dump());
  says({"report", "one.json", "-o", "r.html"}, 0, "only one annotator");
  EXPECT_NE(text("r.html").find("Labels of 1 annotator<"), std::string::npos);
  json none = crowd();
  none["annotations"] = json::array();
  folder.write("none.json", none.dump());
  says({"report", "none.json", "-o", "r.html"}, 0, "No box was drawn");
  EXPECT_NE(text("r.html").find("Too little is known about 4 annotators"), std::string::npos);
  says({"report", "crowd.json", "-m", "mv", "-o", "r.html"}, 0, "annotators and groups are left out");
}

TEST_F(ReportInputs, ASignalEndsItWithoutLeavingAnything) {
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);  // reading it waits for ever
  for (const int signal : {SIGTERM, SIGINT}) {
    bdc::test::RunningProgram program({BDC_HOST, "report", "pipe", "--format", "crowd", "-o", "r.html"}, folder.path());
    const int pipe = ::open((folder.path() / "pipe").c_str(), O_WRONLY);  // opens once the program reads
    program.send(signal);
    const auto outcome = program.wait();
    ::close(pipe);
    EXPECT_EQ(outcome.exit_code, 130) << outcome.signal << outcome.err;
    EXPECT_NE(outcome.err.find("interrupted; no half-written file is left"), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(folder.path() / "r.html"));
  }
}

TEST_F(ReportInputs, LabelsARunSavedAreNamedByTheirEpochAndAnnotatorsByWhoLearntThem) {
  const auto trained =
      host({"--plugin", "minimal", "--hook", "mv", "-q", "--set", "train.epochs=1", "--set",
            "data.shapes.train_images=12", "--set", "data.shapes.test_images=4", "--set", "output.name=run"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  ASSERT_EQ(host({"report", "runs/run", "-o", "r.html"}).exit_code, 0);
  const std::string page = text("r.html");
  EXPECT_NE(page.find("bdc, annotations alone, run for this report; the run itself learnt nothing about annotators"),
            std::string::npos);
  EXPECT_EQ(page.find("nothing but this report has seen"), std::string::npos);
}

}  // namespace
