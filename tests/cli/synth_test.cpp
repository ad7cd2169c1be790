// `bdc-host synth`: a crowd from true boxes.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using nlohmann::json;

class Synth : public testing::Test {
 protected:
  TemporaryFolder folder;
  bdc::test::Outcome host(std::vector<std::string> words) { return run_host(std::move(words), folder.path()); }
  json read(const std::string& name) { return json::parse(read_file(folder.path() / name)); }
};

TEST_F(Synth, WritesTheCrowdWithAssignmentsAndItsTrueNumbersAside) {
  const auto outcome = host({"synth", "--shapes", "40", "--preset", "voc-mix", "-o", "crowd.json", "--parameters",
                             "true.json", "--write-truth", "truth.json", "--write-images", "images"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json crowd = read("crowd.json"), aside = read("true.json");
  EXPECT_EQ(crowd["annotators"].size(), 25u);
  EXPECT_EQ(crowd["assignments"].size(), 25u * 40u);
  EXPECT_FALSE(crowd.contains("truth"));
  EXPECT_EQ(aside["annotators"].size(), 25u);
  EXPECT_NE(outcome.out.find("expert"), std::string::npos);
  std::size_t pictures = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / "images")) {
    pictures += entry.path().extension() == ".png";
  }
  EXPECT_EQ(pictures, 40u);
  const auto judged = host({"aggregate", "crowd.json", "--truth", "truth.json", "--json"});
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_GT(json::parse(judged.out)["AP50"], 0.8);
}

TEST_F(Synth, TheSameSeedGivesTheSameFileForAnyNumberOfThreads) {
  for (const char* threads : {"1", "3"}) {
    ASSERT_EQ(host({"synth", "--shapes", "100", "--preset", "noisy", "--threads", threads, "-q", "-o",
                    std::string("crowd") + threads + ".json"})
                  .exit_code,
              0);
  }
  EXPECT_EQ(read_file(folder.path() / "crowd1.json"), read_file(folder.path() / "crowd3.json"));
  ASSERT_EQ(host({"synth", "--shapes", "100", "--preset", "noisy", "--seed", "2", "-q", "-o", "other.json"}).exit_code,
            0);
  EXPECT_NE(read_file(folder.path() / "crowd1.json"), read_file(folder.path() / "other.json"));
}

TEST_F(Synth, AnyMixByConfigAndDetectorsAsAnnotators) {
  folder.write("truth.json", R"({"images": [{"id": 5, "file_name": "a.jpg", "width": 100, "height": 80}],
    "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    "annotations": [{"id": 1, "image_id": 5, "category_id": 1, "bbox": [10, 10, 30, 30], "area": 900, "iscrowd": 0}]})");
  folder.write("found.json", R"([{"image_id": 5, "category_id": 2, "bbox": [11, 10, 30, 30], "score": 0.7}])");
  folder.write("mix.json", R"({"groups": [{"skill": "mine", "annotators": 2, "recall": 1, "spurious": 0, "accuracy": 1,
    "box_noise": 0}], "confusion": {"related": [["cat", "dog"]]}})");
  const auto outcome =
      host({"synth", "truth.json", "-c", "mix.json", "--detector", "net=found.json", "-o", "crowd.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json crowd = read("crowd.json");
  ASSERT_EQ(crowd["annotations"].size(), 3u);
  EXPECT_EQ(crowd["annotations"][0]["bbox"], json({10, 10, 30, 30}));
  EXPECT_EQ(crowd["annotations"][2]["annotator_id"], "net");
  EXPECT_EQ(crowd["annotations"][2]["category_id"], 2);
}

TEST_F(Synth, MistakesAreNamed) {
  EXPECT_EQ(host({"synth", "--shapes", "10", "-o", "c.json"}).exit_code, 2);
  const auto misspelt = host({"synth", "--shapes", "10", "--preset", "coco-mx", "-o", "c.json"});
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_NE(misspelt.err.find("coco-mix"), std::string::npos);
  folder.write("bad.json", R"({"groups": [{"skill": "expert", "cover": 0.5}]})");
  const auto unknown = host({"synth", "--shapes", "10", "-c", "bad.json", "-o", "c.json"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_NE(unknown.err.find("coverage"), std::string::npos) << unknown.err;
  EXPECT_EQ(host({"synth", "nothing.json", "--preset", "voc-mix", "-o", "c.json"}).exit_code, 4);
  EXPECT_EQ(host({"synth", "--preset", "voc-mix", "-o", "c.json"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "c.json"));
}

TEST_F(Synth, MistakesWithNetworksAreNamedBeforeAnythingIsTrained) {
  folder.write("truth.json", R"({"images": [{"id": 5, "file_name": "a.jpg", "width": 100, "height": 80}],
    "categories": [{"id": 1, "name": "cat"}], "annotations": []})");
  folder.write("file", "");
  folder.write("mix.json", R"({"preset": "voc-mix", "networks": {"skills": {"expert": {"rpn": {"epoch": 3}}}}})");
  folder.write("mine.json",
               R"({"groups": [{"skill": "mine", "recall": 1, "spurious": 0, "accuracy": 1, "box_noise": 0}]})");
  std::filesystem::create_directory(folder.path() / "images");
  const auto says = [&](const std::vector<std::string>& more, int code, const std::string& text) {
    std::vector<std::string> words = {"synth", "-o", "c.json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  };
  says({"truth.json", "--network", "--preset", "voc-mix"}, 2, "--images");
  says({"truth.json", "--network", "--preset", "voc-mix", "--images", "images"}, 4, "a.jpg");
  says({"truth.json", "--network", "--preset", "voc-mix", "--images", "nowhere"}, 4, "nowhere");
  says({"--shapes", "9", "--network", "--preset", "voc-mix", "--networks", "file"}, 2, "expected a folder");
  says({"--shapes", "9", "--network", "--preset", "voc-mix", "--networks", "no/such/folder"}, 1, "no/such");
  says({"--shapes", "9", "--config", "mix.json"}, 3, "did you mean 'epochs'");
  says({"--shapes", "9", "--network", "--config", "mine.json"}, 3, "networks.skills");
  says({"--shapes", "1", "--network", "--preset", "voc-full"}, 4, "at least two images");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "c.json"));
}

TEST_F(Synth, GuessersNeedNoNetworks) {
  folder.write("mix.json", R"({"kind": "network", "groups": [{"skill": "random", "annotators": 3}]})");
  ASSERT_EQ(
      host({"synth", "--shapes", "40", "-c", "mix.json", "-q", "-o", "c.json", "--parameters", "p.json"}).exit_code, 0);
  EXPECT_EQ(read("c.json")["assignments"].size(), 120u);
  EXPECT_NEAR(read("p.json")["annotators"][0]["spurious_rate"].get<double>(), 0.8, 1e-9);  // 4 classes and background
}

}  // namespace
