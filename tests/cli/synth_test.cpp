// `bdc-host synth`: a crowd from true boxes.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

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
  /// `synth -o c.json` and more words end with that code, say that and write nothing.
  void refuses(const std::vector<std::string>& more, int code, const std::string& text) {
    std::vector<std::string> words = {"synth", "-o", "c.json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, code) << text << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << text << "\n" << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "c.json")) << text;
  }
  /// A truth of two images (5: a.jpg, 6: b.jpg) and two classes (1: cat, 2: dog).
  void write_truth() {
    folder.write("truth.json", R"({"images": [{"id": 5, "file_name": "a.jpg", "width": 100, "height": 80},
        {"id": 6, "file_name": "b.jpg", "width": 100, "height": 80}],
      "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
      "annotations": [{"id": 1, "image_id": 5, "category_id": 1, "bbox": [10, 10, 30, 30], "area": 900, "iscrowd": 0}]})");
  }
};

TEST_F(Synth, OnlyFilesOfItsOwnAreReplaced) {
  write_truth();
  folder.write("mine.json", R"({"mine": 1})");
  const std::vector<std::string> words = {"synth", "truth.json", "--preset", "voc-mix", "-o", "crowd.json"};
  for (const char* option : {"-o", "--parameters"}) {
    auto over = words;
    over.insert(over.end(), {option, "mine.json"});
    if (std::string(option) == "-o") over = {"synth", "truth.json", "--preset", "voc-mix", "-o", "mine.json"};
    const auto kept = host(over);
    EXPECT_EQ(kept.exit_code, 2) << kept.err;
    EXPECT_NE(kept.err.find("mine.json: exists"), std::string::npos) << kept.err;
    EXPECT_EQ(read("mine.json").count("mine"), 1U);
  }
  auto with_parameters = words;
  with_parameters.insert(with_parameters.end(), {"--parameters", "true.json"});
  EXPECT_EQ(host(with_parameters).exit_code, 0);
  EXPECT_EQ(host(with_parameters).exit_code, 0) << "its own files";
  with_parameters.back() = "mine.json";
  with_parameters.emplace_back("--force");
  EXPECT_EQ(host(with_parameters).exit_code, 0);
}

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
  refuses({"truth.json", "--network", "--preset", "voc-mix"}, 2, "--images");
  refuses({"truth.json", "--network", "--preset", "voc-mix", "--images", "images"}, 4, "a.jpg");
  refuses({"truth.json", "--network", "--preset", "voc-mix", "--images", "images"}, 4, "is --images the right folder");
  refuses({"truth.json", "--network", "--preset", "voc-mix", "--images", "nowhere"}, 4, "nowhere");
  refuses({"--shapes", "9", "--network", "--preset", "voc-mix", "--networks", "file"}, 2, "expected a folder");
  refuses({"--shapes", "9", "--network", "--preset", "voc-mix", "--networks", "no/such/folder"}, 1, "no/such");
  refuses({"--shapes", "9", "--config", "mix.json"}, 3, "did you mean 'epochs'");
  refuses({"--shapes", "9", "--network", "--config", "mine.json"}, 3, "networks.skills");
  refuses({"--shapes", "1", "--network", "--preset", "voc-full"}, 4, "at least two images");
  refuses({"--shapes", "9", "--network", "--preset", "voc-full", "--networks", "/proc/nets/"}, 1, "/proc/nets: ");
  folder.write("found.json", R"([{"image_id": 99, "category_id": 1, "bbox": [1, 1, 9, 9], "score": 0.9}])");
  refuses({"--shapes", "9", "--network", "--preset", "voc-full", "--detector", "y=found.json"}, 4,
          "none of its results");
}

TEST_F(Synth, GuessersNeedNoNetworks) {
  folder.write("mix.json", R"({"kind": "network", "groups": [{"skill": "random", "annotators": 3}]})");
  ASSERT_EQ(
      host({"synth", "--shapes", "40", "-c", "mix.json", "-q", "-o", "c.json", "--parameters", "p.json"}).exit_code, 0);
  EXPECT_EQ(read("c.json")["assignments"].size(), 120u);
  EXPECT_NEAR(read("p.json")["annotators"][0]["spurious_rate"].get<double>(), 0.8, 1e-9);  // 4 classes and background
}

TEST_F(Synth, MissingImagesAreNotSaidToBeLeftOut) {
  ASSERT_EQ(host({"synth", "--shapes", "2", "--preset", "voc-full", "-q", "-o", "x.json", "--write-truth", "truth.json",
                  "--write-images", "images"})
                .exit_code,
            0);
  bool removed = false;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / "images")) {
    if (!removed && entry.is_regular_file()) removed = std::filesystem::remove(entry.path());
  }
  ASSERT_TRUE(removed);
  const auto outcome =
      host({"synth", "truth.json", "--network", "--preset", "voc-full", "--images", "images", "-o", "c.json"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("every image of the truth must be there"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("left out"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("data.strict"), std::string::npos) << outcome.err;
}

TEST_F(Synth, ADetectorsClassThatTheTruthLacksIsNamed) {
  write_truth();
  folder.write("found.json", R"({"categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "zebra"}],
    "annotations": [{"image_id": 5, "category_id": 2, "bbox": [11, 10, 30, 30], "score": 0.7}]})");
  refuses({"truth.json", "--detector", "net=found.json"}, 4, "category_id 2 (\"zebra\") is not in the data");
}

TEST_F(Synth, WhatIsLeftOutOfADetectorsResultsIsSaid) {
  write_truth();
  folder.write("found.json", R"([{"image_id": 5, "category_id": 1, "bbox": [90, 70, 30, 30], "score": 0.7},
    {"image_id": 5, "category_id": 1, "bbox": [900, 70, 30, 30], "score": 0.7},
    {"image_id": 9, "category_id": 1, "bbox": [1, 1, 30, 30], "score": 0.7}])");
  const auto outcome = host({"synth", "truth.json", "--detector", "net=found.json", "-o", "crowd.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("1 of 3 results are on images that the truth does not have"), std::string::npos);
  EXPECT_NE(outcome.err.find("1 of 3 results lie outside their images"), std::string::npos) << outcome.err;
  ASSERT_EQ(read("crowd.json")["annotations"].size(), 1u);
  EXPECT_EQ(read("crowd.json")["annotations"][0]["bbox"], json({90, 70, 10, 10}));
  EXPECT_EQ(host({"validate", "crowd.json"}).exit_code, 0);
  folder.write("found.json", R"([{"image_id": 9, "category_id": 1, "bbox": [1, 1, 30, 30], "score": 0.7}])");
  refuses({"truth.json", "--detector", "net=found.json"}, 4, "advice: run the detector on the truth's images");
}

TEST_F(Synth, TwoAnnotatorsOfOneNameAreRefusedAtOnce) {
  write_truth();  // the results are not looked at
  refuses({"truth.json", "--preset", "voc-full", "--detector", "average-1=f.json"}, 2, "average-1");
  refuses({"truth.json", "--detector", "y=f.json", "--detector", "y=g.json"}, 2, "--detector y: another annotator");
  folder.write("two.json", R"({"detectors": [{"name": "y", "file": "f"}, {"name": "y", "file": "g"}]})");
  refuses({"truth.json", "-c", "two.json"}, 3, "two.json: detectors: 'y'");
}

TEST_F(Synth, OptionsWithoutEffectAreRefused) {
  write_truth();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--classes", "3"}, {"--size", "64"}, {"--write-images", "i"}}) {
    refuses({"truth.json", "--preset", "voc-full", words[0], words[1]}, 2, words[0] + ": is for built-in images");
  }
  refuses({"truth.json", "--preset", "voc-full", "--images", "."}, 2, "--images: no annotator");
  refuses({"truth.json", "--preset", "voc-full", "--networks", "n"}, 2, "--networks: no annotator");
  refuses({"truth.json", "--preset", "voc-full", "--min-score", "0.3"}, 2, "--min-score: is for --detector");
  refuses({"truth.json", "--network", "--detector", "y=f.json"}, 2, "--network: detectors alone");
  refuses({"--shapes", "9", "--network", "--preset", "voc-full", "--images", "."}, 2, "--images: --shapes has");
  refuses({"--shapes", "9", "--preset", "voc-full", "--format", "coco"}, 2, "--format: is for reading a truth");
  folder.write("idle.json", R"({"preset": "voc-full", "networks": {"proposals": 30}})");
  refuses({"truth.json", "-c", "idle.json"}, 3, "idle.json: networks: no group annotates with networks");
}

TEST_F(Synth, NumbersOutOfRangeAreRefused) {
  for (const char* seed : {"-1", "99999999999999999999999", "9223372036854775808", "1.5", ""}) {
    refuses({"--shapes", "9", "--preset", "voc-full", "--seed", seed}, 2, "from 0 to 9223372036854775807");
  }
  for (const char* score : {"nan", "1.5", "-0.1", "much"}) {
    refuses({"--shapes", "9", "--detector", "y=f.json", "--min-score", score}, 2, "from 0 to 1");
  }
  EXPECT_EQ(
      host({"synth", "--shapes", "9", "--preset", "voc-full", "--seed", "9223372036854775807", "-q", "-o", "c.json"})
          .exit_code,
      0);
}

TEST_F(Synth, MessagesSayWhereAndWhat) {
  write_truth();
  refuses({"truth.json", "--detector", "y="}, 2, "--detector y=: expected NAME=FILE");
  const auto nameless = host({"synth", "truth.json", "--preset", "voc-full", "-o", ""});
  EXPECT_EQ(nameless.exit_code, 2);
  EXPECT_NE(nameless.err.find("--output: expected the name of a file"), std::string::npos) << nameless.err;
  folder.write("preset.json", R"({"preset": "voc-ful"})");
  refuses({"truth.json", "-c", "preset.json"}, 3, "found the string \"voc-ful\"; did you mean 'voc-full'?");
  folder.write("related.json", R"({"preset": "voc-full", "confusion": {"related": [["cat", "dgo"]]}})");
  refuses({"truth.json", "-c", "related.json"}, 4,
          "related.json: confusion.related: class 'dgo' is not in the truth; did you mean 'dog'?");
  folder.write("preset_and_groups.json", R"({"preset": "voc-full", "groups": [{"skill": "expert"}]})");
  refuses({"truth.json", "-c", "preset_and_groups.json"}, 3, "choose one");
}

TEST_F(Synth, TheTruthsFormatCanBeNamed) {
  folder.write("boxes/a.txt", "0 0.5 0.5 0.2 0.2\n");
  folder.write("sizes.csv", "image,width,height\na,100,80\n");
  folder.write("classes.txt", "cat\n");
  const auto outcome = host({"synth", "boxes", "--format", "yolo", "--sizes", "sizes.csv", "--class-names",
                             "classes.txt", "--preset", "voc-full", "-q", "-o", "crowd.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read("crowd.json")["categories"][0]["name"], "cat");
  EXPECT_EQ(read("crowd.json")["assignments"].size(), 10u);
}

TEST_F(Synth, ImagesGoIntoANewFolderOnly) {
  folder.write("file", "");
  folder.write("used/mine.png", "mine");
  std::filesystem::create_directory(folder.path() / "empty");
  refuses({"--shapes", "3", "--preset", "voc-full", "--write-images", "file"}, 2, "file: expected a folder");
  refuses({"--shapes", "3", "--preset", "voc-full", "--write-images", "used/"}, 2, "used: is not empty");
  refuses({"--shapes", "3", "--preset", "voc-full", "--write-images", "no/such/folder"}, 1, "no/such");
  EXPECT_EQ(read_file(folder.path() / "used/mine.png"), "mine");
  for (const char* place : {"empty", "new/"}) {
    const auto outcome =
        host({"synth", "--shapes", "3", "--preset", "voc-full", "-q", "-o", "x.json", "--write-images", place});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_FALSE(std::filesystem::is_empty(folder.path() / place));
  }
  // An error leaves no images behind.
  folder.write("found.json", R"([{"image_id": 99, "category_id": 1, "bbox": [1, 1, 9, 9], "score": 0.9}])");
  refuses({"--shapes", "3", "--detector", "y=found.json", "--write-images", "later"}, 4, "none of its results");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "later"));
}

TEST_F(Synth, TheTableTellsDrawnFromFound) {
  folder.write("mix.json", R"({"groups": [{"skill": "random", "annotators": 20}]})");
  const auto outcome = host({"synth", "--shapes", "100", "-c", "mix.json", "-o", "c.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream lines(outcome.out.substr(outcome.out.find("\nskill") + 1));
  std::string word;
  std::vector<std::string> head;
  for (int n = 0; n < 7 && lines >> word; ++n) head.push_back(word);  // "images each" are two words
  EXPECT_EQ(head, (std::vector<std::string>{"skill", "annotators", "images", "each", "boxes", "drawn", "found"}));
  const std::string row = outcome.out.substr(outcome.out.find("\nrandom") + 1);
  std::istringstream cells(row);
  std::string skill;
  double annotators = 0, images = 0, boxes = 0, drawn = 0, found = 0;
  cells >> skill >> annotators >> images >> boxes >> drawn >> found;
  EXPECT_NEAR(drawn, 0.7, 0.05);  // as asked for
  EXPECT_LT(found, 0.5);
}

}  // namespace
