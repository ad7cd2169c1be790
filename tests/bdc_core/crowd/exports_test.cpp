// Readers of what labelling services export: VIA, SageMaker Ground Truth, FiftyOne, Supervisely.
#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

struct Read {
  CrowdData data;
  std::vector<std::string> notes;
};

Read read_with_notes(const std::vector<std::string>& paths, ReadOptions options = {}) {
  Read out;
  options.notes = &out.notes;
  out.data = read_crowd(paths, options);
  return out;
}

bool has_note(const Read& read, const std::string& part) {
  for (const std::string& note : read.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(ViaFormat, ReadsTheHandWrittenProject) {
  const Read read = read_with_notes({data_path("via/project.json")});
  const CrowdData& data = read.data;
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[0].file, "a.jpg");
  EXPECT_EQ(class_names(data), (std::vector<std::string>{"car", "tree", "bus"})) << "classes without boxes too";
  ASSERT_EQ(data.annotators.size(), 1U);
  EXPECT_EQ(data.annotators[0].id.text, "project");
  EXPECT_EQ(data.assignments.size(), 2U) << "b.jpg was seen and nothing was drawn";
  ASSERT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(data.annotations[0].box, (Box{10, 20, 60.5, 40}));
  EXPECT_TRUE(has_note(read, "the class is the attribute \"class\""));
  EXPECT_TRUE(has_note(read, "1 shape that is not a box is left out"));
  ReadOptions options;
  options.shapes_to_boxes = true;
  const CrowdData all = read_crowd({data_path("via/project.json")}, options);
  ASSERT_EQ(all.annotations.size(), 2U);
  EXPECT_EQ(all.annotations[1].box, (Box{1, 2, 9, 30}));
}

TEST(ViaFormat, ReadsTheExportOfVersionOneAndTheTable) {
  const CrowdData json = read_crowd({data_path("via/export.json")});
  ASSERT_EQ(json.annotations.size(), 1U);
  EXPECT_EQ(json.annotations[0].box, (Box{10, 20, 60, 40}));
  EXPECT_EQ(class_names(json), (std::vector<std::string>{"car"})) << "the ticked option";
  const CrowdData table = read_crowd({data_path("via/table.csv")});
  ASSERT_EQ(table.images.size(), 2U);
  EXPECT_EQ(table.assignments.size(), 2U);
  ASSERT_EQ(table.annotations.size(), 1U);
  EXPECT_EQ(table.annotations[0].box, (Box{10, 20, 60, 40}));
  const TemporaryFolder folder;
  const std::string marked = folder.write("marked.csv", "\xEF\xBB\xBF" + data_text("via/table.csv"));
  EXPECT_EQ(read_crowd({marked}).annotations.size(), 1U) << "a byte order mark changes nothing";
  const CrowdData both = read_crowd({data_path("via/table.csv"), data_path("via/export.json")});
  EXPECT_EQ(both.annotators.size(), 2U);
  EXPECT_EQ(both.images.size(), 2U) << "a.jpg of both is one image";
}

TEST(ViaFormat, TheClassAndTheAnnotatorAreAttributes) {
  const std::string text =
      R"({"a.jpg1":{"filename":"a.jpg","regions":[{"shape_attributes":{"name":"rect","x":1,"y":2,"width":3,"height":4},)"
      R"("region_attributes":{"kind":"car","colour":"red","annotator":"ann"}}]}})";
  EXPECT_NE(parse_error(text, "via")
                .find("several attributes (colour, kind); say which is the class with --columns "
                      "class=ATTRIBUTE"),
            std::string::npos);
  const TemporaryFolder folder;
  ReadOptions options;
  options.columns = "class=colour";
  const Read read = read_with_notes({folder.write("v.json", text)}, options);
  EXPECT_EQ(class_names(read.data), (std::vector<std::string>{"red"}));
  ASSERT_EQ(read.data.annotators.size(), 1U);
  EXPECT_EQ(read.data.annotators[0].id.text, "ann");
  EXPECT_TRUE(has_note(read, "the regions' attribute \"annotator\" says who drew"));
  options.columns = "class=colour,image=x";
  EXPECT_NE(parse_error(text, "via", "in", options).find("expected class=ATTRIBUTE alone"), std::string::npos);
}

TEST(ViaFormat, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("via/project.json");
  expect_refused_by("via", {{with(good, "\"filename\": \"a.jpg\", ", ""), "expected the member \"filename\""},
                            {with(good, "\"width\": 50.5", "\"wide\": 50.5"), "in:7: "},
                            {with(good, "\"x\": 10", "\"x\": \"10\""), "expected the numbers x, y, width and height"},
                            {with(good, "\"width\": 50.5", "\"width\": 0"), "in:7: regions[0]: expected a box"},
                            {with(good, "\"class\": \"car\", ", ""), "expected the attribute \"class\" (the class)"},
                            {with(good, "b.jpg\", \"size\"", "a.jpg\", \"size\""), "is defined twice"},
                            {R"({"project": {}, "metadata": {}})", "is a project of VIA 3"},
                            {good.substr(0, good.size() / 2), "in:"}});
  const std::string table = data_text("via/table.csv");
  expect_refused_by("via", {{with(table, "\"\"x\"\":10", "\"\"x\"\":ten"), "in:2: "},
                            {with(table, "a.jpg,1234", ",1234"), "in:2: expected a filename, found nothing"},
                            {with(table, "b.jpg,99,", "b.jpg,"), "in:3: expected 7 fields"},
                            {with(table, "region_attributes\n", "region\n"), "expected the column region_attributes"}});
}

TEST(SageMakerFormat, ReadsTheOutputManifest) {
  const Read read = read_with_notes({data_path("sagemaker/output.manifest")});
  const CrowdData& data = read.data;
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[0].file, "photos/a.jpg");
  EXPECT_EQ(data.images[0].width, 500);
  ASSERT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(data.annotations[0].box, (Box{111, 134, 172, 262}));
  EXPECT_EQ(class_names(data), (std::vector<std::string>{"cat"}));
  EXPECT_EQ(data.annotators.at(0).id.text, "output");
  EXPECT_EQ(data.assignments.size(), 2U);
  EXPECT_TRUE(has_note(read, "1 image left out: a model drew the boxes"));
  EXPECT_TRUE(has_note(read, "1 image left out: no boxes are listed"));
}

TEST(SageMakerFormat, ConsolidationRequestsHoldTheCrowd) {
  const CrowdData data = read_crowd({data_path("sagemaker/request.json")});
  ASSERT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.annotators[0].id.text, "private.us-west-2.aaaa");
  EXPECT_EQ(data.images.at(0).file, "photos/a.jpg");
  EXPECT_EQ(data.assignments.size(), 2U) << "the second saw the image and drew nothing";
  ASSERT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(data.annotations[0].box, (Box{111, 134, 172, 262}));
}

TEST(SageMakerFormat, WorkersResponsesAreNamedByTheManifest) {
  const Read read = read_with_notes({data_path("sagemaker/job")});
  const CrowdData& data = read.data;
  ASSERT_EQ(data.images.size(), 1U) << "the requests of the same job would count the answers twice";
  EXPECT_EQ(data.images[0].file, "photos/b.jpg") << "the manifest's second line";
  EXPECT_EQ(data.annotators.size(), 2U);
  ASSERT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(data.annotations[0].box, (Box{10, 30, 50, 50}));
  EXPECT_TRUE(read.notes.empty());
  const TemporaryFolder folder;
  const std::string answer = data_text("sagemaker/job/annotations/worker-response/iteration-1/1/answer.json");
  folder.write("worker-response/7/a.json", answer);
  const Read bare = read_with_notes({folder / "worker-response"});
  EXPECT_EQ(bare.data.images.at(0).id.text, "7");
  EXPECT_TRUE(has_note(bare, "images are known by their numbers alone"));
}

TEST(SageMakerFormat, SeveralJobsInAManifestAreAsked) {
  std::string text = data_text("sagemaker/output.manifest");
  text = text.substr(0, text.find('\n') + 1);
  text = with(text, "\"boxes\": {", "\"other\": {\"image_size\": [], \"annotations\": []}, \"boxes\": {");
  const TemporaryFolder folder;
  const std::string path = folder.write("m.manifest", text);
  const std::string error = error_of([&] { static_cast<void>(read_crowd({path})); });
  EXPECT_NE(error.find("several jobs drew boxes, \"boxes\" and \"other\""), std::string::npos) << error;
  ReadOptions options;
  options.annotator_from = AnnotatorFrom::key;
  EXPECT_EQ(read_crowd({path}, options).annotators.size(), 2U);
}

TEST(SageMakerFormat, BrokenFilesSayWhereAndWhat) {
  const std::string manifest = data_text("sagemaker/output.manifest"), request = data_text("sagemaker/request.json");
  expect_refused_by(
      "sagemaker",
      {{with(manifest, "\"left\": 111", "\"right\": 111"), "in:1: boxes.annotations[0]: expected the numbers left"},
       {with(manifest, "\"class_id\": 1", "\"class_id\": 5"), "in:1: class_id 5 is not in the class-map"},
       {with(manifest, "\"source-ref\": \"s3://bucket/photos/b.jpg\", ", ""),
        "in:2: expected the member \"source-ref\""},
       {with(manifest, "\"width\": 61", "\"width\": -61"), "in:1: expected a box with x1 < x2"},
       {with(request, "\"workerId\": \"private.us-west-2.aaaa\", ", ""), "expected the member \"workerId\""},
       {with(request, "\"content\"", "\"s3Uri\""), "expected \"content\" in annotationData"},
       {with(request, "boundingBoxes", "keypoints"), "expected \"boundingBoxes\" in an answer, found none"},
       {with(request, "\\\"left\\\":111,", ""), "[0].annotations[0].annotationData.content: content:1: "},
       {with(request, "bbbb", "aaaa"), "in:2: "},
       {R"({"answers": [{"answerContent": {}}]})", "expected \"boundingBoxes\""},
       {R"({"questions": []})", "expected the member \"answers\", found none"}});
}

TEST(FiftyOneFormat, ReadsLabelsWithSizesBeside) {
  ReadOptions options;
  options.sizes_csv = data_path("fiftyone/sizes.csv");
  const Read read = read_with_notes({data_path("fiftyone/ann/labels.json")}, options);
  const CrowdData& data = read.data;
  EXPECT_EQ(data.annotators.at(0).id.text, "ann") << "the folder's name: every file is called labels.json";
  ASSERT_EQ(data.images.size(), 2U) << "nobody looked at c";
  EXPECT_TRUE(has_note(read, "1 image without labels left out"));
  EXPECT_EQ(data.images[0].file, "a.jpg");
  EXPECT_EQ(data.assignments.size(), 2U);
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(data.annotations[0].box, (Box{20, 20, 120, 60}));
  EXPECT_EQ(data.annotations[1].box, (Box{0, 0, 100, 20}));
  EXPECT_EQ(class_names(data), (std::vector<std::string>{"car", "tree"}));
  EXPECT_EQ(data.annotations[1].label, 0);
}

TEST(FiftyOneFormat, FieldsOfSamplesAreAnnotatorsOnlyWhenAsked) {
  const std::string path = data_path("fiftyone/dataset/samples.json");
  const std::string error = error_of([&] { static_cast<void>(read_crowd({path})); });
  EXPECT_NE(error.find("several fields hold boxes (ann, bob); --annotator-from key"), std::string::npos) << error;
  ReadOptions options;
  options.annotator_from = AnnotatorFrom::key;
  const Read read = read_with_notes({path}, options);
  ASSERT_EQ(read.data.annotators.size(), 2U);
  EXPECT_EQ(read.data.annotators[1].id.text, "bob");
  EXPECT_EQ(read.data.assignments.size(), 2U);
  ASSERT_EQ(read.data.annotations.size(), 1U);
  EXPECT_EQ(read.data.annotations[0].box, (Box{20, 20, 120, 60}));
  EXPECT_TRUE(has_note(read, "1 box of the field \"yolo\" left out: they have a confidence"));
}

TEST(FiftyOneFormat, AMemberOfTheBoxesMayNameWhoDrew) {
  std::string text = data_text("fiftyone/dataset/samples.json");
  text = with(text, "\"attributes\": {}",
              R"("attributes": {"annotator": {"_cls": "CategoricalAttribute", "value": "zoe"}})");
  text = with(text, "\"bob\": {\"_cls\": \"Detections\", \"detections\": []},", "");
  const TemporaryFolder folder;
  const Read read = read_with_notes({folder.write("samples.json", text)});
  EXPECT_EQ(read.data.annotators.at(0).id.text, "zoe");
  EXPECT_TRUE(has_note(read, "the member \"annotator\" says who drew"));
}

TEST(FiftyOneFormat, BrokenFilesSayWhereAndWhat) {
  const std::string labels = data_text("fiftyone/ann/labels.json"),
                    samples = data_text("fiftyone/dataset/samples.json");
  ReadOptions options;
  options.sizes_csv = data_path("fiftyone/sizes.csv");
  expect_refused_by("fiftyone",
                    {{with(labels, "\"label\": 0", "\"label\": 7"), "label 7 is not in the list of classes (2 known)"},
                     {with(labels, "0.25, 0.5, 0.5]", "0.25, 0.5]"), "expected a bounding_box of 4 numbers"},
                     {with(labels, "\"label\": \"tree\", ", ""), "in:3: labels.a[0]: expected the member \"label\""},
                     {with(labels, "\"a\":", "\"z\":"), "the size of image \"z\" is unknown"},
                     {with(labels, "\"labels\"", "\"things\""), "expected the member \"labels\" or \"samples\""},
                     {with(samples, "\"filepath\": \"data/a.jpg\", ", ""), "expected the member \"filepath\""},
                     {labels.substr(0, labels.size() / 2), "in:"}},
                    "in", options);
}

TEST(SuperviselyFormat, TheLoginSaysWhoDrew) {
  const Read read = read_with_notes({data_path("supervisely/project")});
  const CrowdData& data = read.data;
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[0].file, "a.jpg");
  EXPECT_EQ(data.images[0].width, 90);
  EXPECT_EQ(class_names(data), (std::vector<std::string>{"car", "bus", "tree"}));
  ASSERT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.annotators[0].id.text, "ann");
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(data.annotations[0].box, (Box{10, 20, 60, 40}));
  EXPECT_EQ(data.annotations[1].box, (Box{11, 21, 61, 41})) << "points in any order";
  EXPECT_FALSE(data.assignments_known) << "who saw b.jpg is not said";
  EXPECT_TRUE(has_note(read, "labelerLogin says who drew"));
}

TEST(SuperviselyFormat, WithoutLoginsAProjectIsOneAnnotators) {
  const TemporaryFolder folder;
  for (const char* who : {"ann", "bob"}) {
    folder.write(std::string(who) + "/meta.json", data_text("supervisely/project/meta.json"));
    folder.write(std::string(who) + "/ds/ann/b.jpg.json", data_text("supervisely/project/street/ann/b.jpg.json"));
  }
  const CrowdData data = read_crowd({folder.path().string()});
  ASSERT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.annotators[0].id.text, "ann");
  EXPECT_EQ(data.images.size(), 1U);
  EXPECT_EQ(data.assignments.size(), 2U);
  EXPECT_TRUE(data.assignments_known);
}

TEST(SuperviselyFormat, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("supervisely/project/street/ann/a.jpg.json");
  expect_refused_by(
      "supervisely",
      {{with(good, "\"objects\"", "\"things\""), "expected the member \"objects\", found none"},
       {with(good, "\"classTitle\": \"car\", ", ""), "a.jpg.json:5: objects[0]: expected the member \"classTitle\""},
       {with(good, "\"geometryType\": \"rectangle\", ", ""), "expected the member \"geometryType\""},
       {with(good, "[[10, 20], [60, 40]]", "[[10, 20]]"), "expected a rectangle of 2 points, found 1"},
       {with(good, "[60, 40]", "[60]"), "expected a point of 2 numbers, found 1"},
       {with(good, "[60, 40]", "[10, 40]"), "expected a box with width and height above 0"}},
      "a.jpg.json");
}

}  // namespace
}  // namespace bdc::test
