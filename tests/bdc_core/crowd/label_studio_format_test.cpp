#include "bdc/crowd/coco.h"
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

TEST(LabelStudioFormat, ReadsTheHandWrittenFile) {
  ProblemLog log(ProblemLog::Mode::lenient);
  ReadOptions options;
  options.problems = &log;
  const CrowdData data = read_crowd({data_path("label_studio/export.json")}, options);
  ASSERT_EQ(data.images.size(), 3U);
  expect_same_id(data.images[0].id, {"41", true});
  EXPECT_EQ(data.images[0].file, "/data/upload/1/a.jpg");
  EXPECT_EQ(data.images[0].width, 200);
  EXPECT_EQ(data.images[0].height, 100);
  EXPECT_EQ(data.images[2].width, 0);
  ASSERT_EQ(data.annotators.size(), 2U) << "a cancelled annotation says nothing of its annotator";
  expect_same_id(data.annotators[1].id, {"2", true});
  EXPECT_EQ(data.annotators[1].name, "bo@example.com");
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(data.annotations[0].box, (Box{20, 20, 120, 45.5}));
  EXPECT_EQ(data.classes.at(static_cast<std::size_t>(data.annotations[0].label)).name, "Airplane");
  const Box turned = data.annotations[1].box;  // 20 x 10 turned by 90 degrees about its corner (50, 50)
  EXPECT_NEAR(turned.x1, 40, 1e-9);
  EXPECT_NEAR(turned.y1, 50, 1e-9);
  EXPECT_NEAR(turned.x2, 50, 1e-9);
  EXPECT_NEAR(turned.y2, 70, 1e-9);
  EXPECT_TRUE(data.assignments_known);
  EXPECT_EQ(data.assignments.size(), 3U) << "an empty result is an assignment, a cancelled one is not";
  ASSERT_EQ(data.truth.size(), 1U) << "marked ground_truth";
  EXPECT_EQ(data.truth[0].box, (Box{0, 0, 100, 50}));
  EXPECT_EQ(data.truth_covers, (std::vector<std::uint8_t>{1, 0, 0}));
  EXPECT_EQ(log.entry(ProblemKind::ignored_shape).count, 3U) << "choices, two labels, a rotation";
  EXPECT_EQ(log.count(Severity::error), 0U);
}

TEST(LabelStudioFormat, ATaskOfSeveralPicturesIsRefusedInsteadOfPuttingAllBoxesOnTheFirst) {
  const auto task = [](const std::string& first, const std::string& second) {
    const auto result = [](const std::string& where) {
      return R"({"type": "rectanglelabels", )" + where +
             R"(, "original_width": 100, "original_height": 50, "value": {"x": 10, "y": 10, "width": 10, "height": 10,
             "rectanglelabels": ["car"]}})";
    };
    return R"([{"id": 1, "data": {"image": "a.jpg", "other": "b.jpg"}, "annotations": [{"id": 1, "completed_by": 1,
           "result": [)" +
           result(first) + ", " + result(second) + "]}]}]";
  };
  const std::string here = R"("to_name": "image")", there = R"("to_name": "other")";
  const std::string page_0 = here + R"(, "item_index": 0)", page_1 = here + R"(, "item_index": 1)";
  EXPECT_EQ(parse(task(here, here), "label-studio").annotations.size(), 2U);
  EXPECT_EQ(parse(task(page_1, page_1), "label-studio").annotations.size(), 2U);
  for (const auto& text : {task(here, there), task(page_0, page_1)}) {
    const std::string error = parse_error(text, "label-studio");
    EXPECT_NE(error.find("tasks with several pictures are not read"), std::string::npos) << error;
  }
}

TEST(LabelStudioFormat, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("label_studio/export.json");
  const std::vector<BrokenFile> cases = {
      {"", "in:1: expected JSON, found an empty file"},
      {"{}", "in:1: expected a list of tasks (Label Studio's JSON export), found something else"},
      {good.substr(0, 600), "is it truncated?"},
      {with(good, "\"id\": 41,", ""), "[0]: expected the member \"id\", found none"},
      {with(good, "\"id\": 42", "\"id\": 41"), "in:33: [1]: the image id 41 is defined twice"},
      {with(good, "\"annotations\": []", "\"label\": []"),
       "[2]: expected the member \"annotations\" (or, in JSON-MIN, \"annotation_id\"), found none"},
      {with(good, "\"completed_by\": 1,", ""),
       "[0].annotations[0]: expected the member \"completed_by\" (who drew), found none"},
      {with(good, "\"completed_by\": 1,", "\"completed_by\": [1],"), "[0].annotations[0].completed_by: expected an id"},
      {with(good, "\"result\": [], \"was_cancelled\": false", "\"was_cancelled\": false"),
       "[0].annotations[1]: expected the member \"result\", found none"},
      {with(good, "\"x\": 10,", ""), "[0].annotations[0].result[0]: expected the number \"x\" in value, found none"},
      {with(good, "\"x\": 10,", "\"x\": \"10\","),
       "[0].annotations[0].result[0].value.x: expected a number, found the string \"10\""},
      {with(good, "[\"Airplane\"]", "[]"), "result[0]: expected a label in rectanglelabels, found none"},
      {with(good, "[\"Airplane\"]", "[\"\"]"), "rectanglelabels[0]: expected a label, found an empty string"},
      {with(good, "\"original_width\": 200", "\"original_width\": 0"),
       "expected original_width and original_height above 0, found 0 x 100"},
      {with(good, "\"width\": 50", "\"width\": 0"), "in:9: [0]: expected a box with width and height above 0"},
      {with(good, "\"width\": 50", "\"width\": -50"), "in:9: [0]: expected a box with x1 < x2"},
      {with(good, "\"width\": 50", "\"width\": NaN"), "in:9: [0]: expected a box of finite numbers"},
      {with(good, "\"was_cancelled\": true", "\"was_cancelled\": \"yes\""),
       "was_cancelled: expected true or false, found the string \"yes\""},
      {with(good, "\"type\": \"rectanglelabels\", ", ""), "result[0]: expected the member \"type\", found none"},
      {with(good, "Airplane", "Air\xFFplane"), "a string is not valid UTF-8"},
      {with(good, "\"original_width\": 200, \"original_height\": 100, \"value\"",
            "\"original_width\": 300, \"original_height\": 100, \"value\""),
       "image 41 is 300 x 100 here and 200 x 100 before"},
  };
  expect_refused_by("label-studio", cases);
}

TEST(LabelStudioFormat, PredictionsAreNobodysAndSaidToBeLeftOut) {
  const std::string box = R"({"type": "rectanglelabels", "original_width": 90, "original_height": 80,
      "value": {"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["car"]}})";
  const std::string predictions = R"("predictions": [{"model_version": "m", "result": [)" + box + "]}]";
  EXPECT_NE(
      parse_error(R"([{"id": 1, "data": {"image": "a.jpg"}, "annotations": [], )" + predictions + "}]", "label-studio")
          .find("found nothing but predictions (1 predicted box)"),
      std::string::npos);
  std::vector<std::string> notes;
  ReadOptions options;
  options.notes = &notes;
  const CrowdData data =
      parse(R"([{"id": 1, "data": {"image": "a.jpg"}, "annotations": [{"completed_by": 1, "result": [)" + box +
                "]}], " + predictions + "}]",
            "label-studio", "in", options);
  EXPECT_EQ(data.annotations.size(), 1U);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "in: 1 predicted box is left out: nobody drew them");
}

TEST(LabelStudioFormat, ARectangleTakesTheLabelOfItsRegion) {
  const auto result = [](const std::string& id, const std::string& type, const std::string& more) {
    return R"({"id": ")" + id + R"(", "type": ")" + type + R"(", "original_width": 200, "original_height": 100,
        "value": {"x": 10, "y": 10, "width": 20, "height": 20, "rotation": 0)" +
           more + "}}";
  };
  const auto task = [](const std::string& results) {
    return R"([{"id": 1, "data": {"image": "a.jpg"}, "annotations": [{"completed_by": 1, "result": [)" + results +
           "]}]}]";
  };
  std::vector<std::string> notes;
  ReadOptions options;
  options.notes = &notes;
  const CrowdData data =
      parse(task(result("r1", "rectangle", "") + ", " + result("r2", "labels", R"(, "labels": ["dog"])") + ", " +
                 result("r1", "labels", R"(, "labels": ["cat"])") + ", " + result("r2", "rectangle", "") + ", " +
                 result("r3", "rectangle", "")),
            "label-studio", "in", options);
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(data.annotations[0].box, (Box{20, 10, 60, 30}));
  EXPECT_EQ(data.classes[static_cast<std::size_t>(data.annotations[0].label)].name, "cat");
  EXPECT_EQ(data.classes[static_cast<std::size_t>(data.annotations[1].label)].name, "dog");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].rfind("1 shape that is not a box is left out", 0), 0U) << notes[0];
}

TEST(LabelStudioFormat, JsonMinIsReadAnnotationByAnnotation) {
  const CrowdData data = read_crowd({data_path("label_studio/min.json")});
  ASSERT_EQ(data.images.size(), 2U) << "a task stands once per annotation";
  EXPECT_EQ(data.images[0].file, "/data/upload/1/a.jpg");
  EXPECT_EQ(data.images[0].width, 200);
  EXPECT_EQ(data.images[0].id.text, "41");
  ASSERT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.annotators[1].id.text, "2");
  EXPECT_EQ(data.annotators[1].name, "bo@example.com");
  EXPECT_EQ(data.assignments.size(), 3U) << "2 saw task 42 and drew nothing";
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(data.annotations[0].box, (Box{20, 20, 120, 45.5}));
  EXPECT_EQ(data.classes.size(), 2U);
  const std::string good = data_text("label_studio/min.json");
  expect_refused_by(
      "label-studio",
      {{with(good, "\"annotator\": 1, ", ""), "expected the member \"annotator\" (who drew), found none"},
       {with(good, "\"width\": 50,", ""), "expected the number \"width\" in value, found none"},
       {with(good, ", \"original_width\": 200", ""), "expected original_width and original_height above 0"},
       {with(good, "[\"Airplane\"]", "[]"), "expected a label in rectanglelabels, found none"}});
}

TEST(LabelStudioFormat, PredictionsAreADetectorsBoxes) {
  CrowdData data;
  data.images = {{{"7", true}, "street/a.jpg", 200, 100}, {{"8", true}, "b.jpg", 0, 0}};
  data.classes = {{{"5", true}, "Airplane"}, {{"6", true}, "Car"}};
  data.finalize();
  const std::string path = data_path("label_studio/predictions.json");
  const Predictions found = read_predictions(path, data);
  ASSERT_EQ(found.box.size(), 2U) << "tasks are tied by the pictures' names";
  EXPECT_EQ(found.begin, (std::vector<std::size_t>{0, 2, 2}));
  EXPECT_EQ(found.score, (std::vector<double>{0.75, 0.5})) << "the second has its prediction's score";
  EXPECT_EQ(found.box[0], (Box{20, 20, 120, 45}));
  EXPECT_DOUBLE_EQ(found.class_probs[1], 0.75 + 0.125);
  std::size_t results = 0;
  scan_coco_results(path, data, {}, [&](const CocoResult&) { ++results; });
  EXPECT_EQ(results, 2U) << "`eval` takes them too";

  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text) {
    const std::string file = folder.write("p.json", text);
    return error_of([&] { static_cast<void>(read_predictions(file, data)); });
  };
  const std::string good = data_text("label_studio/predictions.json");
  expect_refused(
      {{with(good, "\"score\": 0.5, ", ""), "expected the member \"score\" of a predicted box"},
       {with(good, "\"predictions\": []", "\"predictions\": [{\"model_version\": \"b\", \"result\": []}]"),
        "expected the predictions of one model, found those of \"yolo\" and \"b\""},
       {with(good, "\"rotation\": 0", "\"rotation\": 30"), "expected an upright box, found a rotated one"},
       {with(good, "[\"Car\"]", "[\"Carr\"]"), "nearest name \"Car\""},
       {with(good, "0.75", "1.75"), "expected a score from 0 to 1, found 1.75"},
       {R"([{"id": 1, "data": {"image": "a.jpg"}}])", "expected predictions in Label Studio's tasks, found none"}},
      refused);
}

std::string region(const std::string& more = "", double x = 10) {
  return R"({"id": "r", "type": "rectanglelabels", "from_name": "label", "original_width": 100, "original_height": 80,)" +
         more + R"("value": {"x": )" + std::to_string(x) +
         R"(, "y": 10, "width": 20, "height": 20, "rotation": 0, "rectanglelabels": ["cat"]}})";
}

std::string work(int id, int by, const std::string& regions) {
  return "{\"id\": " + std::to_string(id) + ", \"completed_by\": " + std::to_string(by) + ", \"result\": [" + regions +
         "]}";
}

std::string project(const std::string& annotations,
                    const std::string& data = R"("image": "/data/upload/1/abcdef12-a.jpg")",
                    const std::string& more = "") {
  return "[{\"id\": 1, \"data\": {" + data + "}, \"annotations\": [" + annotations + "]" + more + "}]";
}

Read read_project(const std::string& text) {
  const TemporaryFolder folder;
  return read({folder.write("p.json", text)});
}

TEST(LabelStudioFormat, OfSeveralAnnotationsOfATaskByOneAnnotatorTheLatestCounts) {
  const Read found =
      read_project(project(work(8, 1, region("", 30)) + "," + work(7, 1, region()) + "," + work(9, 2, "")));
  ASSERT_EQ(found.data.annotations.size(), 1U);
  EXPECT_EQ(found.data.annotations[0].box.x1, 30);
  EXPECT_EQ(found.data.assignments.size(), 2U);
  EXPECT_TRUE(found.notes_have("1 annotation is left out: its task has a later one by the same annotator"))
      << found.all_notes();
}

TEST(LabelStudioFormat, AccountsOfOneNumberOnTwoMachinesAreNotOneAnnotator) {
  const TemporaryFolder folder;
  const Names paths = {folder.write("ann.json", project(work(1, 1, region()))),
                       folder.write("bob.json", project(work(1, 1, region())))};
  const std::string error = error_of([&] { (void)read(paths); });
  EXPECT_NE(error.find("\"1\" labelled the image"), std::string::npos) << error;
  EXPECT_NE(error.find("--annotator-from file"), std::string::npos) << error;
  ReadOptions options;
  options.annotator_from = AnnotatorFrom::file;
  const Read found = read(paths, options);
  EXPECT_EQ(annotators_of(found.data), (Names{"ann", "bob"}));
  EXPECT_EQ(found.data.images.size(), 1U);
}

TEST(LabelStudioFormat, ThePictureIsTheOneThatTheBoxesAreOn) {
  const auto file = [](const std::string& data, const std::string& to_name) {
    return read_project(project(work(1, 1, region("\"to_name\": \"" + to_name + "\",")), data)).data.images.at(0).file;
  };
  EXPECT_EQ(file(R"("text": "hello", "pic": "http://x/a.jpg")", "img"), "http://x/a.jpg");
  EXPECT_EQ(file(R"("left": "http://x/a.jpg", "right": "http://x/b.jpg")", "right"), "http://x/b.jpg");
  EXPECT_EQ(file(R"("photo": "data:image/png;base64,AA", "title": "b")", "img"), "");
  const Read guessed = read_project(
      project(work(1, 1, region("\"to_name\": \"img\",")), R"("left": "http://x/a.jpg", "right": "http://x/b.jpg")"));
  EXPECT_EQ(guessed.data.images.at(0).file, "http://x/a.jpg");
  EXPECT_TRUE(guessed.notes_have("1 task names several pictures, and nothing says which")) << guessed.all_notes();
}

TEST(LabelStudioFormat, DraftsAndTurnedPicturesAreTold) {
  const Read found = read_project(
      project(work(1, 1, region("\"image_rotation\": 90,")), R"("image": "a.jpg")", R"(, "drafts": [{"id": 1}])"));
  EXPECT_TRUE(found.notes_have("1 draft is left out: it was never submitted")) << found.all_notes();
  EXPECT_TRUE(found.notes_have("1 region was drawn on a picture that was turned in Label Studio")) << found.all_notes();
}

TEST(LabelStudioFormat, RelationsAreNoShapes) {
  const std::string relation = R"({"from_id": "r", "to_id": "s", "type": "relation", "direction": "right"})";
  EXPECT_EQ(read_project(project(work(1, 1, region() + "," + relation))).all_notes(), "");
}

}  // namespace
}  // namespace bdc::test
