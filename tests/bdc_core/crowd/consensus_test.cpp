// A consensus in the formats of labelling programs: read back by our own readers, and held against the documented
// schema.
#include "bdc/crowd/consensus.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

using nlohmann::json;

CrowdData labels() {
  CrowdData data;
  data.images = {
      {{"4", true}, "a.jpg", 200, 100}, {{"7", true}, "dir/b & c.jpg", 64, 48}, {{"9", true}, "empty.jpg", 10, 10}};
  data.classes = {{{"1", true}, "car"}, {{"2", true}, "traffic <light>"}};
  data.finalize();
  return data;
}

Targets consensus() {
  Targets targets;
  targets.num_classes = 2;
  targets.box = {{10, 20, 30.5, 40}, {0, 0, 200, 100}, {1.25, 2.5, 60, 47}};
  targets.hard_label = {0, 1, 1};
  targets.weight = {1, 1, 1};
  targets.score = {0.9, 0.25, 0.5};
  targets.existence = {0.95, 0.4, 0.7};
  targets.begin = {0, 2, 3, 3};
  return targets;
}

ConsensusOptions format(const std::string& name) {
  ConsensusOptions options;
  options.format = name;
  return options;
}

TEST(Consensus, EveryFormatReadsBackWithTheSameBoxesClassesAndImages) {
  const CrowdData data = labels();
  const Targets targets = consensus();
  const std::pair<const char*, double> formats[] = {{"coco", 0}, {"crowd", 0},    {"cvat", 0},       {"yolo", 1e-9},
                                                    {"voc", 0},  {"datumaro", 0}, {"fiftyone", 1e-9}};
  for (const auto& [name, tolerance] : formats) {
    const TemporaryFolder folder;
    const std::string kind = name;
    const bool is_file = kind == "coco" || kind == "crowd";
    const std::string path = folder / (is_file ? "out.json" : kind == "cvat" ? "out.xml" : "out");
    static_cast<void>(write_consensus(targets, data, path, format(name)));
    const CrowdData back = read_crowd({path});
    ASSERT_EQ(back.images.size(), 3U) << name;
    ASSERT_EQ(back.annotations.size(), 3U) << name;
    EXPECT_EQ(back.annotators.size(), 1U) << name;
    std::map<std::string, std::vector<std::pair<std::string, Box>>> found;
    for (const Annotation& a : back.annotations) {
      found[back.images[static_cast<std::size_t>(a.image)].file].push_back(
          {back.classes[static_cast<std::size_t>(a.label)].name, a.box});
    }
    ASSERT_EQ(found["a.jpg"].size(), 2U) << name;
    ASSERT_EQ(found["dir/b & c.jpg"].size(), 1U) << name;
    EXPECT_EQ(found["a.jpg"][0].first, "car") << name;
    EXPECT_EQ(found["dir/b & c.jpg"][0].first, "traffic <light>") << name;
    EXPECT_NEAR(found["a.jpg"][0].second.x2, 30.5, tolerance) << name;
    EXPECT_NEAR(found["dir/b & c.jpg"][0].second.y1, 2.5, tolerance) << name;
  }
}

TEST(Consensus, LabelStudioGetsTasksWithPredictionsUnderTheNamesOfTheExport) {
  const TemporaryFolder folder;
  const std::string project =
      folder.write("export.json",
                   R"([{"id": 4, "annotations": [{"completed_by": 1, "result": [{"from_name": "tag", "to_name": "photo",
      "type": "rectanglelabels"}]}], "data": {"picture": "a.jpg"}}])");
  ConsensusOptions options = format("label-studio");
  use_names_of_export(project, options);
  EXPECT_EQ(options.from_name, "tag");
  EXPECT_EQ(options.to_name, "photo");
  EXPECT_EQ(options.data_key, "picture");
  static_cast<void>(write_consensus(consensus(), labels(), folder / "out.json", options));
  const json tasks = json::parse(read_file(folder / "out.json"));
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[0]["id"], 4);
  EXPECT_EQ(tasks[0]["data"]["picture"], "a.jpg");
  ASSERT_EQ(tasks[0]["predictions"].size(), 1U);
  const json& prediction = tasks[0]["predictions"][0];
  EXPECT_EQ(prediction["model_version"], "bdc");
  EXPECT_NEAR(prediction["score"].get<double>(), (0.9 + 0.25) / 2, 1e-12);
  const json& result = prediction["result"][0];
  EXPECT_EQ(result["from_name"], "tag");
  EXPECT_EQ(result["to_name"], "photo");
  EXPECT_EQ(result["type"], "rectanglelabels");
  EXPECT_EQ(result["original_width"], 200);
  EXPECT_EQ(result["score"], 0.9);
  EXPECT_NEAR(result["value"]["x"].get<double>(), 5, 1e-12);
  EXPECT_NEAR(result["value"]["height"].get<double>(), 20, 1e-12);
  EXPECT_EQ(result["value"]["rectanglelabels"], json::array({"car"}));
  EXPECT_TRUE(tasks[2]["predictions"][0]["result"].empty());
  const std::string error = error_of([&] { static_cast<void>(read_crowd({folder / "out.json"})); });
  EXPECT_NE(error.find("found nothing but predictions (3 predicted boxes)"), std::string::npos)
      << "predictions are nobody's annotations: " << error;
}

TEST(Consensus, CvatGetsAutomaticBoxesWithTheirScores) {
  const TemporaryFolder folder;
  const WriteReport report = write_consensus(consensus(), labels(), folder / "out.xml", format("cvat"));
  const std::string text = read_file(folder / "out.xml");
  EXPECT_NE(text.find("<image id=\"7\" name=\"dir/b &amp; c.jpg\" width=\"64\" height=\"48\">"), std::string::npos);
  EXPECT_NE(text.find("source=\"auto\" occluded=\"0\" xtl=\"10\" ytl=\"20\" xbr=\"30.5\" ybr=\"40\" z_order=\"0\">"
                      "<attribute name=\"score\">0.9</attribute></box>"),
            std::string::npos)
      << text;
  EXPECT_NE(report.text().find("3 weights and class probabilities"), std::string::npos) << report.text();
  EXPECT_EQ(report.text().find("scores"), std::string::npos) << report.text();
}

// Datumaro's documentation of its JSON: categories.label.labels, items with id, annotations and image; a bbox has
// label_id and [x, y, width, height], sizes are [height, width].
TEST(Consensus, DatumaroGetsADataSetWithScoresAsAttributes) {
  const TemporaryFolder folder;
  const WriteReport report = write_consensus(consensus(), labels(), folder / "out", format("datumaro"));
  const json set = json::parse(read_file(folder / "out/annotations/default.json"));
  EXPECT_TRUE(set["infos"].is_object());
  ASSERT_EQ(set["categories"]["label"]["labels"].size(), 2U);
  EXPECT_EQ(set["categories"]["label"]["labels"][1]["name"], "traffic <light>");
  EXPECT_EQ(set["categories"]["label"]["labels"][1]["parent"], "");
  ASSERT_EQ(set["items"].size(), 3U) << "an image without objects is an item, too";
  const json& item = set["items"][1];
  EXPECT_EQ(item["id"], "dir/b & c");
  EXPECT_EQ(item["image"]["path"], "dir/b & c.jpg");
  EXPECT_EQ(item["image"]["size"], json::array({48, 64}));
  const json& box = set["items"][0]["annotations"][0];
  EXPECT_EQ(box["type"], "bbox");
  EXPECT_EQ(box["label_id"], 0);
  EXPECT_EQ(box["bbox"], json::array({10, 20, 20.5, 20}));
  EXPECT_EQ(box["attributes"]["score"], 0.9);
  EXPECT_EQ(box["group"], 0);
  EXPECT_EQ(box["z_order"], 0);
  EXPECT_EQ(report.text().find("scores"), std::string::npos) << report.text();
}

// FiftyOne's documentation of FiftyOneImageDetectionDataset: classes, and per image a list of labels with bounding_box
// [left, top, width, height] in [0, 1] and confidence.
TEST(Consensus, FiftyOneGetsADetectionDataSetWithConfidences) {
  const TemporaryFolder folder;
  CrowdData data = labels();
  data.images[1].width = data.images[1].height = 0;
  const WriteReport report = write_consensus(consensus(), data, folder / "out", format("fiftyone"));
  const json set = json::parse(read_file(folder / "out/labels.json"));
  EXPECT_EQ(set["classes"], json::array({"car", "traffic <light>"}));
  ASSERT_EQ(set["labels"].size(), 3U);
  EXPECT_EQ(set["labels"]["a"][0]["label"], "car");
  EXPECT_EQ(set["labels"]["a"][0]["confidence"], 0.9);
  EXPECT_NEAR(set["labels"]["a"][0]["bounding_box"][2].get<double>(), 0.1025, 1e-12);
  EXPECT_TRUE(set["labels"]["empty"].is_array()) << "null would mean that nobody looked";
  EXPECT_TRUE(set["labels"]["dir/b & c"].empty());
  EXPECT_NE(report.text().find("1 box of images without a size"), std::string::npos) << report.text();
}

TEST(Consensus, YoloHasScoresOnRequest) {
  const TemporaryFolder folder;
  static_cast<void>(write_consensus(consensus(), labels(), folder / "out", format("yolo-scores")));
  EXPECT_EQ(read_file(folder / "out/labels/a.txt"), "0 0.10125 0.3 0.1025 0.2 0.9\n1 0.5 0.5 1 1 0.25\n");
  EXPECT_EQ(read_file(folder / "out/labels/empty.txt"), "");
}

TEST(Consensus, YoloLabelsLieWhereProgramsLookForThem) {
  const std::vector<std::pair<std::string, std::string>> places = {{"images/monday/1.jpg", "labels/monday/1.txt"},
                                                                   {"images/tuesday/1.jpg", "labels/tuesday/1.txt"},
                                                                   {"train/images/2.jpg", "train/labels/2.txt"},
                                                                   {"street/a b.jpg", "labels/street/a b.txt"},
                                                                   {"plain.jpg", "labels/plain.txt"}};
  CrowdData data = labels();
  data.images.clear();
  Targets targets = consensus();
  targets.begin = {0};
  targets.box.resize(1);
  for (const auto& [image, label] : places) {
    data.images.push_back({{std::to_string(data.images.size() + 40), true}, image, 200, 100});
    targets.begin.push_back(1);  // a box in the first image
  }
  data.finalize();
  const TemporaryFolder folder;
  static_cast<void>(write_consensus(targets, data, folder / "out", format("yolo")));
  for (const auto& [image, label] : places) {
    EXPECT_TRUE(std::filesystem::exists(folder / ("out/" + label))) << label;
  }
  const CrowdData back = read_crowd({folder / "out"});
  EXPECT_EQ(back.annotators.size(), 1U);
  ASSERT_EQ(back.images.size(), places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(back.images[i].file, places[i].first);
    expect_same_id(back.images[i].id, data.images[i].id);
  }
  ASSERT_EQ(back.annotations.size(), 1U);
  EXPECT_EQ(back.images[static_cast<std::size_t>(back.annotations[0].image)].file, "images/monday/1.jpg");
  data.images[0].file = "../1.jpg";
  data.images[1].file = "https://example.org/1.jpg";
  static_cast<void>(write_consensus(targets, data, folder / "flat", format("yolo")));
  EXPECT_EQ(read_crowd({folder / "flat"}).images.size(), places.size());
}

TEST(Consensus, ThresholdsCountWhatTheyCut) {
  ConsensusCut cut;
  const Targets strong = strong_targets(consensus(), 0.5, 0.6, &cut);
  EXPECT_EQ(cut.below_existence, 1U);
  EXPECT_EQ(cut.below_score, 1U);
  EXPECT_EQ(cut.kept, 1U);
  ASSERT_EQ(strong.box.size(), 1U);
  EXPECT_EQ(strong.begin, (std::vector<std::size_t>{0, 1, 1, 1}));
  EXPECT_EQ(strong.existence, (std::vector<double>{0.95}));
  Targets without = consensus();
  without.existence.clear();
  EXPECT_NE(
      error_of([&] { static_cast<void>(strong_targets(without, 0.5, 0, nullptr)); }).find("no existence to cut by"),
      std::string::npos);
}

TEST(Consensus, AnUnknownFormatIsRefused) {
  const TemporaryFolder folder;
  const std::string error = error_of([&] { write_consensus(consensus(), labels(), folder / "out", format("xml")); });
  EXPECT_NE(error.find("known: coco, crowd, cvat, datumaro, fiftyone, label-studio, yolo, yolo-scores, voc"),
            std::string::npos)
      << error;
}

}  // namespace
}  // namespace bdc::test
