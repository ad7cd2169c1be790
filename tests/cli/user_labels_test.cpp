// Labels as users bring them to training: annotators under another name, boxes that are none, no truth; and what
// `predict` writes.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using Json = nlohmann::json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Eight grey images in images/ and labels.json with a box in each by each of two people, named under `key`.
struct UserLabels {
  explicit UserLabels(const std::string& key) {
    labels["categories"] = {{{"id", 1}, {"name", "thing"}}};
    labels["images"] = labels["annotations"] = Json::array();
    for (int i = 1; i <= 8; ++i) {
      const std::string name = std::to_string(i) + ".pgm";
      folder.write("images/" + name, "P5\n64 48\n255\n" + std::string(64 * 48, static_cast<char>(20 * i)));
      labels["images"].push_back({{"id", i}, {"file_name", name}, {"width", 64}, {"height", 48}});
      for (const char* who : {"ann", "bob"}) {
        Json box = {{"image_id", i}, {"category_id", 1}, {"bbox", {4 + i, 5, 30, 20}}};
        if (!key.empty()) box[key] = who;
        labels["annotations"].push_back(box);
      }
    }
  }
  bdc::test::Outcome train(const std::vector<std::string>& more = {}) {
    folder.write("labels.json", labels.dump());
    std::vector<std::string> words = {"--plugin", "minimal", "--data",         "labels.json", "--images",
                                      "images",   "--set",   "train.epochs=1", "--set",       "train.batch_size=4"};
    words.insert(words.end(), more.begin(), more.end());
    return run_host(words, folder.path());
  }
  TemporaryFolder folder;
  Json labels;
};

TEST(UserLabels, AnAnnotatorUnderAnotherNameIsReadAndTwoSuchNamesStopTraining) {
  const auto read = UserLabels("annotator").train({"--hook", "bdc"});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_TRUE(has(read.err, "the annotators are those of the member \"annotator\"")) << read.err;
  UserLabels user("annotator");
  for (auto& box : user.labels["annotations"]) box["worker_id"] = 7;
  const auto outcome = user.train({"--hook", "bdc"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "the members \"annotator\", \"worker_id\" all seem to name the annotator"))
      << outcome.err;
  EXPECT_FALSE(fs::exists(user.folder.path() / "runs"));
  const auto checked = run_host({"validate", "labels.json"}, user.folder.path());
  EXPECT_EQ(checked.exit_code, 4);
  EXPECT_TRUE(has(checked.out, "16 annotations with several members that may name the annotator [misnamed_annotator]"))
      << checked.out;
  EXPECT_EQ(UserLabels("annotator_id").train({"--hook", "bdc"}).exit_code, 0);
}

TEST(UserLabels, HowLabelsWereReadIsSaidOnceAndIsNoWarning) {
  UserLabels user("annotator");
  const std::string note = "the annotators are those of the member \"annotator\"";
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--dry-run"}, {"--dry-run", "-q"}}) {
    const auto outcome = user.train(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string said = outcome.out + outcome.err;
    const auto first = said.find(note);
    ASSERT_NE(first, std::string::npos) << said;
    EXPECT_EQ(said.find(note, first + 1), std::string::npos) << said;
    EXPECT_EQ(said.find("warning: labels.json"), std::string::npos) << said;
    EXPECT_EQ(said.find("warning: " + (user.folder.path() / "labels.json").string()), std::string::npos) << said;
  }
}

TEST(UserLabels, BoxesThatCannotBeTrainedOnAreCountedAndNoneAtAllIsAnError) {
  UserLabels user("");
  for (std::size_t n = 0; n < 4; ++n) user.labels["annotations"][n]["bbox"] = {3, 3, 0, 9};
  const std::vector<std::string> as_truth = {"--set", "data.role=truth"};
  const auto some = user.train(as_truth);
  EXPECT_EQ(some.exit_code, 0) << some.err;
  EXPECT_TRUE(has(some.err, "warning: 4 of 16 boxes are left out: 4 without area\n")) << some.err;
  EXPECT_TRUE(has(some.err, "warning: 2 of 8 training images have no box; ")) << some.err;
  for (auto& box : user.labels["annotations"]) box["bbox"] = {3, 3, 0, 9};
  const auto empty = user.train(as_truth);
  EXPECT_EQ(empty.exit_code, 4) << empty.err;
  EXPECT_TRUE(has(empty.err, "hold no box that can be trained on in 8 images (found 16 without area)")) << empty.err;
  user.labels["annotations"].clear();
  for (const auto& hook : {std::vector<std::string>{"--hook", "bdc"}, std::vector<std::string>{}}) {
    const auto none = user.train(hook);
    EXPECT_EQ(none.exit_code, 4) << none.err;
    EXPECT_TRUE(has(none.err, "(there are none), so nothing can be learnt")) << none.err;
  }
  user.labels["annotations"] = {{{"image_id", 1}, {"category_id", 1}}};
  const auto without = user.train();
  EXPECT_EQ(without.exit_code, 4);
  EXPECT_TRUE(has(without.err, "expected the member \"bbox\", found none")) << without.err;
}

TEST(UserLabels, LinksThatLeadToThemselvesStopNothing) {
  UserLabels user("annotator_id");
  const auto loop = [&](const std::string& name) {
    fs::create_symlink(fs::path(name).filename(), user.folder.path() / name);
  };
  for (const char* name : {"images/l.jpg", "images/.hidden", "images/folder", "l"}) loop(name);
  for (auto& image : user.labels["images"]) {  // sizes come from the folder, which is walked through for them
    image.erase("width");
    image.erase("height");
  }
  const auto trained = user.train({"--hook", "mv"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_FALSE(has(trained.err, "l.jpg")) << trained.err;
  for (const auto& words :
       {std::vector<std::string>{"val", "l"}, std::vector<std::string>{"compare", "l"},
        std::vector<std::string>{"report", "l", "-o", "r.html"}, std::vector<std::string>{"validate", "l"}}) {
    const auto refused = run_host(words, user.folder.path());
    EXPECT_EQ(refused.exit_code, 4) << words[0] << ": " << refused.err;
    EXPECT_FALSE(has(refused.err, "filesystem error")) << refused.err;
  }
}

TEST(UserLabels, ValidateTellsOfImagesOfOneFileAndClassesOfOneName) {
  UserLabels user("annotator_id");
  user.labels["images"][7]["file_name"] = "1.pgm";
  user.labels["categories"].push_back({{"id", 2}, {"name", "thing"}});
  user.folder.write("labels.json", user.labels.dump());
  const auto checked = run_host({"validate", "labels.json"}, user.folder.path());
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_TRUE(has(checked.out, "warning: 1 image with the file of another image [duplicate_image_file]\n"))
      << checked.out;
  EXPECT_TRUE(has(checked.out, "image 8 (1.pgm) has the file of image 1")) << checked.out;
  EXPECT_TRUE(has(checked.out, "warning: 1 class with the name of another class [duplicate_class_name]\n"))
      << checked.out;
  EXPECT_TRUE(has(checked.out, "class 2 has the name \"thing\" of class 1")) << checked.out;
}

TEST(UserLabels, WithoutTruthNoTableIsShownButWhyThereIsNone) {
  UserLabels user("annotator_id");
  const auto outcome = user.train({"--hook", "mv", "--set", "data.val_share=0.25"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "warning: the 2 validation images have no true boxes")) << outcome.err;
  EXPECT_FALSE(has(outcome.out, "AP50")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "AP was not measured: the 2 held-out images have no true boxes")) << outcome.out;
  EXPECT_FALSE(has(read_file(user.folder.path() / "runs/minimal-1/metrics.jsonl"), "test/AP"));
  const auto judged = run_host({"val", "runs/minimal-1"}, user.folder.path());
  EXPECT_EQ(judged.exit_code, 3);
  EXPECT_EQ(judged.out, "");
  EXPECT_TRUE(has(judged.err, "the 2 images to evaluate on have no true boxes")) << judged.err;
}

TEST(Predict, EveryBoxIsClippedToItsImageInEveryOutput) {
  UserLabels user("annotator_id");
  ASSERT_EQ(user.train({"-q"}).exit_code, 0);
  const auto outcome = run_host({"predict", "runs/minimal-1", "images", "-o", "found.json", "--yolo", "yolo",
                                 "--pictures", "drawn", "--min-score", "0"},
                                user.folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json found = Json::parse(read_file(user.folder.path() / "found.json"));
  ASSERT_GT(found["annotations"].size(), 50u);
  std::size_t at_the_edge = 0;
  for (const auto& a : found["annotations"]) {
    const auto box = a["bbox"].get<std::vector<double>>();
    EXPECT_GE(box[0], 0);
    EXPECT_GE(box[1], 0);
    EXPECT_LE(box[0] + box[2], 64);
    EXPECT_LE(box[1] + box[3], 48);
    EXPECT_GT(box[2], 0);
    EXPECT_GT(box[3], 0);
    at_the_edge += box[0] == 0 || box[1] == 0 || box[0] + box[2] == 64 || box[1] + box[3] == 48 ? 1 : 0;
  }
  EXPECT_GT(at_the_edge, 10u) << "some were clipped";
  std::istringstream lines(read_file(user.folder.path() / "yolo/1.txt"));
  double label = 0, cx = 0, cy = 0, w = 0, h = 0, score = 0;
  std::size_t count = 0;
  for (; lines >> label >> cx >> cy >> w >> h >> score; ++count) {
    EXPECT_GE(cx - w / 2, -2e-6);
    EXPECT_GE(cy - h / 2, -2e-6);
    EXPECT_LE(cx + w / 2, 1 + 2e-6);
    EXPECT_LE(cy + h / 2, 1 + 2e-6);
  }
  EXPECT_GT(count, 5u);
  EXPECT_TRUE(fs::exists(user.folder.path() / "drawn/1.png"));
}

/// A detector trained on eight images of shapes in images/, whose true boxes are in truth.json.
struct TrainedOnShapes {
  explicit TrainedOnShapes(int epochs = 1) {
    EXPECT_EQ(run_host({"synth", "--shapes", "8", "--classes", "3", "--preset", "voc-full", "-q", "-o", "crowd.json",
                        "--write-images", "images", "--write-truth", "truth.json"},
                       folder.path())
                  .exit_code,
              0);
    trained = run_host({"--plugin", "minimal", "--hook", "bdc", "--data", "crowd.json", "--images", "images", "--set",
                        "train.epochs=" + std::to_string(epochs), "--set", "output.name=run"},
                       folder.path());
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    truth = Json::parse(read_file(folder.path() / "truth.json"));
  }
  bdc::test::Outcome val(const std::string& labels) const {
    return run_host(
        {"val", "runs/run", "--json", "-q", "--set", "data.val_labels=" + labels, "--set", "data.val_images=images"},
        folder.path());
  }
  TemporaryFolder folder;
  bdc::test::Outcome trained;
  Json truth;
};

std::size_t objects_of(const Json& judged) {
  std::size_t sum = 0;
  for (const auto& c : judged["classes"]) sum += c["objects"].get<std::size_t>();
  return sum;
}

TEST(UserLabels, WhatWasLearntOfTheAnnotatorsIsShown) {
  const TrainedOnShapes user;
  EXPECT_TRUE(has(user.trained.out, "What was learnt about the annotators:\n")) << user.trained.out;
  EXPECT_TRUE(has(user.trained.out, "average-10")) << user.trained.out;
}

TEST(UserLabels, ImagesWithBrokenPixelsCountForNothingInValAndPredict) {
  const TrainedOnShapes user;
  std::size_t left = 0;
  Json broken = Json::array();
  for (std::size_t i = 0; i < user.truth["images"].size(); ++i) {
    const Json& image = user.truth["images"][i];
    const fs::path file = user.folder.path() / "images" / image["file_name"].get<std::string>();
    if (i % 2 == 0) {
      fs::resize_file(file, fs::file_size(file) / 2);
      broken.push_back(file.stem().string());
      continue;
    }
    for (const auto& a : user.truth["annotations"]) left += a["image_id"] == image["id"] ? 1 : 0;
  }
  const auto outcome = user.val("truth.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json judged = Json::parse(outcome.out);
  EXPECT_EQ(judged["images"], 8);
  EXPECT_EQ(judged["broken_images"], 4);
  EXPECT_EQ(objects_of(judged), left);

  const auto predicted = run_host({"predict", "runs/run", "images", "-o", "found.json", "--yolo", "yolo", "--pictures",
                                   "drawn", "--min-score", "0"},
                                  user.folder.path());
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_TRUE(has(predicted.out, "4 images cannot be read and are left out")) << predicted.out;
  EXPECT_EQ(Json::parse(read_file(user.folder.path() / "found.json"))["images"].size(), 4u);
  for (const auto& stem : broken) {
    EXPECT_FALSE(fs::exists(user.folder.path() / "yolo" / (stem.get<std::string>() + ".txt")));
    EXPECT_FALSE(fs::exists(user.folder.path() / "drawn" / (stem.get<std::string>() + ".png")));
  }
}

TEST(UserLabels, ValMatchesClassesByNameAndSomeMayBeMissing) {
  TrainedOnShapes user;
  const Json first = user.truth["categories"][0];
  Json fewer = user.truth;
  fewer["categories"] = {user.truth["categories"][2], user.truth["categories"][1]};
  fewer["annotations"] = Json::array();
  for (const auto& a : user.truth["annotations"]) {
    if (a["category_id"] != first["id"]) fewer["annotations"].push_back(a);
  }
  user.folder.write("fewer.json", fewer.dump());
  const auto outcome = user.val("fewer.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json judged = Json::parse(outcome.out);
  ASSERT_EQ(judged["classes"].size(), 3u);
  EXPECT_EQ(judged["classes"][0]["name"], first["name"]);
  EXPECT_EQ(judged["classes"][0]["objects"], 0);
  EXPECT_EQ(objects_of(judged), fewer["annotations"].size());

  fewer["categories"][0]["name"] = "zebra";
  user.folder.write("other.json", fewer.dump());
  const auto refused = user.val("other.json");
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_TRUE(has(refused.err, "other.json: class 'zebra' is not among the classes of the training labels"))
      << refused.err;
}

/// Numbers of `eval` for a file of detections.
Json eval_of(const TrainedOnShapes& user, const std::string& found, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"eval", found, "truth.json", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const auto outcome = run_host(words, user.folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.exit_code == 0 ? Json::parse(outcome.out) : Json();
}

TEST(UserLabels, ValAndPredictWithEvalAgree) {
  TrainedOnShapes user(60);
  const auto judged = user.val("truth.json");
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  // val leaves out what minimal's evaluate.min_score says.
  ASSERT_EQ(
      run_host({"predict", "runs/run", "images", "-o", "found.json", "--min-score", "0.01", "-q"}, user.folder.path())
          .exit_code,
      0);
  const Json found = Json::parse(read_file(user.folder.path() / "found.json"));
  ASSERT_GT(found["annotations"].size(), 10u);
  const Json by_val = Json::parse(judged.out), by_eval = eval_of(user, "found.json");
  ASSERT_GT(by_val["AP50"], 0.0);
  for (const char* name : {"AP", "AP50", "AP75"}) {
    EXPECT_NEAR(by_val[name].get<double>(), by_eval[name].get<double>(), 1e-4) << name;
  }
}

TEST(UserLabels, DetectionsOfOtherFilesAreNotJudgedThoughTheirNumbersAreTheSame) {
  TrainedOnShapes user(60);
  ASSERT_EQ(
      run_host({"predict", "runs/run", "images", "-o", "found.json", "--min-score", "0", "-q"}, user.folder.path())
          .exit_code,
      0);
  const Json right = eval_of(user, "found.json");
  // An image in front that the truth does not know shifts every number by one.
  Json shifted = Json::parse(read_file(user.folder.path() / "found.json"));
  for (auto& image : shifted["images"]) image["id"] = image["id"].get<int>() + 1;
  for (auto& box : shifted["annotations"]) box["image_id"] = box["image_id"].get<int>() + 1;
  shifted["images"].push_back({{"id", 1}, {"file_name", "elsewhere.png"}, {"width", 96}, {"height", 96}});
  Json stray = shifted["annotations"][0];
  stray["image_id"] = 1;
  stray["id"] = 100000;
  shifted["annotations"].push_back(stray);
  user.folder.write("shifted.json", shifted.dump());
  const auto refused = run_host({"eval", "shifted.json", "truth.json"}, user.folder.path());
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_TRUE(has(refused.err, "image_id 1 is another file in the data")) << refused.err;
  EXPECT_TRUE(has(refused.err, "--common-images")) << refused.err;
  EXPECT_EQ(eval_of(user, "shifted.json", {"--common-images"}), right);
}

TEST(Predict, NeverWritesOverAnImageItReads) {
  TrainedOnShapes user;
  const std::string image = "images/" + user.truth["images"][0]["file_name"].get<std::string>();
  const std::string before = read_file(user.folder.path() / image);
  for (const std::vector<std::string>& output :
       {std::vector<std::string>{"-o", image}, {"--pictures", (fs::path(image).parent_path()).string()}}) {
    std::vector<std::string> words = {"predict", "runs/run", image};
    words.insert(words.end(), output.begin(), output.end());
    const auto outcome = run_host(words, user.folder.path());
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "would overwrite")) << outcome.err;
    EXPECT_EQ(read_file(user.folder.path() / image), before);
  }
  const auto nowhere = run_host({"predict", "runs/run", image, "-o", "gone/found.json"}, user.folder.path());
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_FALSE(has(nowhere.err, "predicting with")) << "told before the work: " << nowhere.err;
  const auto unknown = run_host({"val", "runs/run", "--picture", "pr.pdf"}, user.folder.path());
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_TRUE(has(unknown.err, "use .png or .jpg")) << unknown.err;
}

TEST(Predict, EveryImageHasAFileOfItsOwnWhateverItsNameAndLinksInACircleAreNone) {
  UserLabels user("annotator_id");
  ASSERT_EQ(user.train({"-q"}).exit_code, 0);
  const std::string pixels = read_file(user.folder.path() / "images/1.pgm");
  for (const char* name : {"in/3_x.pgm", "in/a/x.pgm", "in/b/x.pgm", "in/classes.pgm", "in/4_classes.pgm"}) {
    user.folder.write(name, pixels);
  }
  fs::create_symlink("loop.pgm", user.folder.path() / "in/loop.pgm");
  const auto outcome =
      run_host({"predict", "runs/minimal-1", "in", "--yolo", "text", "--min-score", "0"}, user.folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(user.folder.path() / "text")) {
    if (entry.path().filename().string().front() == '.') continue;  // the mark of predict
    ++files;
    EXPECT_FALSE(read_file(entry.path()).empty()) << entry.path();
  }
  EXPECT_EQ(files, 6u) << "five images and the list of classes";
  EXPECT_EQ(read_file(user.folder.path() / "text/classes.txt"), "thing\n");

  // Again into the same folder; but not over what somebody else has put there.
  const auto predict = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"predict", "runs/minimal-1", "in/classes.pgm", "-q", "--min-score", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return run_host(words, user.folder.path());
  };
  EXPECT_EQ(predict({"--yolo", "text"}).exit_code, 0);
  user.folder.write("mine/classes.txt", "my classes\n");
  user.folder.write("mine.json", "{\"mine\": 1}");
  for (const std::vector<std::string>& output : {std::vector<std::string>{"--yolo", "mine"}, {"-o", "mine.json"}}) {
    const auto kept = predict(output);
    EXPECT_EQ(kept.exit_code, 2) << kept.err;
    EXPECT_TRUE(has(kept.err, "--force")) << kept.err;
  }
  EXPECT_EQ(read_file(user.folder.path() / "mine/classes.txt"), "my classes\n");
  EXPECT_EQ(predict({"--yolo", "mine", "-o", "mine.json", "--force"}).exit_code, 0);
  EXPECT_EQ(predict({"-o", "mine.json"}).exit_code, 0) << "ours now";
}

TEST(UserLabels, ARunIsUsedFromAnyFolderAndGoesOnWithItsOwnLabelsAlone) {
  UserLabels user("annotator_id");
  ASSERT_EQ(user.train({"--hook", "mv", "-q", "--set", "train.epochs=2"}).exit_code, 0);
  user.folder.write("elsewhere/labels.json", "{}");
  const auto from = [&](const fs::path& folder, const std::string& run) {
    return run_host({"train", "--resume", run}, folder);
  };
  EXPECT_EQ(from(user.folder.path() / "elsewhere", "../runs/minimal-1").exit_code, 0);
  const Json right = user.labels;
  const auto expect_refused = [&](const std::string& part) {
    user.folder.write("labels.json", user.labels.dump());
    const auto outcome = from(user.folder.path(), "runs/minimal-1");
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_TRUE(has(outcome.err, "the labels have changed since the run began")) << outcome.err;
    EXPECT_TRUE(has(outcome.err, part)) << outcome.err;
    user.labels = right;
  };
  user.labels["categories"][0]["name"] = "other";
  expect_refused("then: 8 images, 1 class, 2 annotators, 16 boxes");
  user.labels["annotations"].erase(3);
  expect_refused("now:  8 images, 1 class, 2 annotators, 15 boxes");
  user.labels["annotations"][3]["bbox"][0] = 9;
  expect_refused("now:  8 images, 1 class, 2 annotators, 16 boxes");
}

TEST(UserLabels, ACrowdFileOfASingleAnnotatorIsACrowdOfOne) {
  UserLabels user("annotator_id");
  Json kept = Json::array();
  for (const auto& box : user.labels["annotations"]) {
    if (box["annotator_id"] == "ann") kept.push_back(box);
  }
  user.labels["annotations"] = kept;
  user.labels["annotators"] = {{{"id", "ann"}}};
  user.labels["assignments"] = Json::array();
  for (int i = 1; i <= 8; ++i) user.labels["assignments"].push_back({{"image_id", i}, {"annotator_id", "ann"}});
  const auto outcome = user.train({"--hook", "bdc"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "with boxes of 1 annotator")) << outcome.err;
}

TEST(UserLabels, ValRefusesToChangeTheDetector) {
  const TrainedOnShapes user;
  for (const char* set : {"plugin.options.width=8", "plugin.options.typo=3", "plugin.name=frcnn"}) {
    const auto outcome = run_host({"val", "runs/run", "--set", set}, user.folder.path());
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_TRUE(has(outcome.err, "plugin")) << outcome.err;
  }
}

}  // namespace
