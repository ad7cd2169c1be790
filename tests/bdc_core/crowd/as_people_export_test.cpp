// Exports as people and programs really make them, which were refused or misread without a word.
#include "bdc/crowd/coco.h"
#include "bdc/crowd/consensus.h"
#include "bdc/crowd/validate.h"
#include "bdc_core/crowd/make_zip.h"
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

Names images_of(const CrowdData& data) {
  Names out;
  for (const ImageRecord& image : data.images) out.push_back(image.file);
  return out;
}

std::string coco(const std::string& image, const std::string& more = "") {
  return R"({"images": [{"id": 1, "file_name": ")" + image +
         R"(", "width": 90, "height": 80}], "categories": [{"id": 1, "name": "car"}], "annotations": [{"id": 1,
            "image_id": 1, "category_id": 1, "bbox": [10, 20, 30, 10])" +
         more + "}]}";
}

// CVAT: frames of videos.

std::string frame(const std::string& task, const std::string& more = "") {
  return "<image id=\"0\" name=\"frame_000000\" " + (task.empty() ? "" : "task_id=\"" + task + "\"") + more +
         " width=\"90\" height=\"80\"><box label=\"car\" xtl=\"1\" ytl=\"1\" xbr=\"9\" ybr=\"9\"/></image>";
}

std::string video_task(const std::string& id, const std::string& who, const std::string& source) {
  return "<task><id>" + id + "</id><name>t" + id + "</name><mode>interpolation</mode><assignee><username>" + who +
         "</username></assignee>" + (source.empty() ? "" : "<source>" + source + "</source>") + "</task>";
}

std::string video_project(const std::string& first, const std::string& second) {
  return "<annotations><version>1.1</version><meta><project><id>1</id><name>p</name><tasks>" +
         video_task("1", "ann", first) + video_task("2", "bob", second) +
         "</tasks><labels><label><name>car</name></label></labels></project></meta>" + frame("1") + frame("2") +
         "</annotations>";
}

TEST(CvatVideos, FramesOfTwoVideosInAProjectAreTwoImages) {
  EXPECT_EQ(images_of(parse(video_project("monday.mp4", "tuesday.mp4"), "cvat")),
            (Names{"monday/frame_000000", "tuesday/frame_000000"}));
  const CrowdData same = parse(video_project("monday.mp4", "monday.mp4"), "cvat");
  EXPECT_EQ(images_of(same), Names{"monday/frame_000000"}) << "two tasks on one video";
  EXPECT_EQ(same.annotations.size(), 2U);
  EXPECT_EQ(images_of(parse(video_project("", ""), "cvat")), (Names{"t1/frame_000000", "t2/frame_000000"}));
}

TEST(CvatVideos, FramesOfTwoVideosInTwoFilesAreTwoImages) {
  const TemporaryFolder folder;
  const auto task = [&](const std::string& who, const std::string& source) {
    return folder.write(who + ".xml", "<annotations><version>1.1</version><meta>" + video_task("7", who, source) +
                                          "</meta>" + frame("") + "</annotations>");
  };
  const std::string ann = task("ann", "monday.mp4");
  EXPECT_EQ(read({ann, task("bob", "tuesday.mp4")}).data.images.size(), 2U);
  EXPECT_EQ(read({ann, task("eve", "monday.mp4")}).data.images.size(), 1U);
}

TEST(CvatSubsets, OneNameInTwoSubsetsIsTwoImages) {
  const std::string project =
      "<annotations><version>1.1</version><meta><project><id>1</id><name>p</name><tasks>"
      "<task><id>4</id><name>a</name><assignee><username>ann</username></assignee></task></tasks>"
      "</project></meta>" +
      frame("4", " subset=\"Train\"") + frame("4", " subset=\"Test\"") + "</annotations>";
  EXPECT_EQ(images_of(parse(project, "cvat")), (Names{"Train/frame_000000", "Test/frame_000000"}));
}

// CVAT's rotated boxes in other formats.

TEST(RotatedBoxes, BecomeTheUprightBoxesAroundThemInEveryFormatThatCvatWrites) {
  const Box upright{20, 10, 30, 40};  // of 10, 20, 40, 30 about its centre
  const TemporaryFolder folder;
  const std::string voc =
      "<annotation><filename>a.jpg</filename><size><width>90</width><height>80</height></size><object><name>car</name>"
      "<bndbox><xmin>10</xmin><ymin>20</ymin><xmax>40</xmax><ymax>30</ymax></bndbox><attributes><attribute>"
      "<name>rotation</name><value>90.0</value></attribute></attributes></object></annotation>";
  folder.write("voc/ann/a.xml", voc);
  const std::string datumaro =
      R"({"categories": {"label": {"labels": [{"name": "car"}]}}, "items": [{"id": "a", "annotations": [{"id": 1,
      "type": "bbox", "attributes": {"rotation": 90.0}, "label_id": 0, "bbox": [10, 20, 30, 10]}],
      "image": {"path": "a.jpg", "size": [80, 90]}}]})";
  for (const std::string& path : {folder.write("coco.json", coco("a.jpg", R"(, "attributes": {"rotation": 90.0})")),
                                  folder.write("datumaro.json", datumaro), folder / "voc"}) {
    const Read found = read({path});
    ASSERT_EQ(found.data.annotations.size(), 1U) << path;
    const Box& box = found.data.annotations[0].box;
    EXPECT_NEAR(box.x1, upright.x1, 1e-9) << path;
    EXPECT_NEAR(box.y1, upright.y1, 1e-9) << path;
    EXPECT_NEAR(box.x2, upright.x2, 1e-9) << path;
    EXPECT_NEAR(box.y2, upright.y2, 1e-9) << path;
    EXPECT_TRUE(found.notes_have("1 shape became the upright box around it")) << path << found.all_notes();
  }
  EXPECT_TRUE(read({folder.write("plain.json", coco("a.jpg", R"(, "attributes": {"rotation": 0.0})"))}).notes.empty());
}

// Who drew.

TEST(Attributes, ThatMayNameTheAnnotatorAreToldAndTaken) {
  const TemporaryFolder folder;
  const std::string datumaro =
      R"({"categories": {"label": {"labels": [{"name": "car"}]}}, "items": [{"id": "a", "annotations": [{"id": 1,
      "type": "bbox", "attributes": {"annotator": "bob"}, "label_id": 0, "bbox": [10, 20, 30, 10]}],
      "image": {"path": "a.jpg", "size": [80, 90]}}]})";
  for (const std::string& path : {folder.write("coco.json", coco("a.jpg", R"(, "attributes": {"annotator": "bob"})")),
                                  folder.write("datumaro.json", datumaro)}) {
    EXPECT_TRUE(
        read({path}).notes_have("the member \"attributes.annotator\" of the annotations has 1 different value "
                                "(on 1 of 1 annotation) and may say who drew"))
        << read({path}).all_notes();
    ReadOptions options;
    options.annotator_key = "attributes.annotator";
    EXPECT_EQ(annotators_of(read({path}, options).data), Names{"bob"}) << path;
    options.annotator_key = "attributes.drawer";
    EXPECT_NE(error_of([&] {
                (void)read({path}, options);
              }).find("expected the member \"attributes.drawer\" with the annotator"),
              std::string::npos);
  }
}

// Which pictures are the same.

const std::string kHash1 = ".rf.0123456789abcdef0123456789abcdef", kHash2 = ".rf.fedcba9876543210fedcba9876543210";

TEST(PictureNames, RoboflowsExportsOfTwoAnnotatorsAreOfTheSamePictures) {
  const TemporaryFolder folder;
  const Read json = read({folder.write("ann.json", coco("p0_jpg" + kHash1 + ".jpg")),
                          folder.write("bob.json", coco("p0_jpg" + kHash2 + ".jpg"))});
  EXPECT_EQ(json.data.images.size(), 1U);
  EXPECT_TRUE(json.notes_have("1 image is tied to another annotator's by the name before Roboflow's export"));
  for (const auto& [who, hash] : {std::pair{"ann", kHash1}, std::pair{"bob", kHash2}}) {
    folder.write(std::string("yolo/") + who + "/p0_jpg" + hash + ".txt", "0 0.5 0.5 1 1\n");
    folder.write(std::string("split/") + (hash == kHash1 ? "train" : "valid") + "/labels/p0_jpg" + hash + ".txt",
                 "0 0.5 0.5 1 1\n");
    folder.write(std::string("twice/") + who + "/p0_jpg" + hash + ".txt", "0 0.5 0.5 1 1\n");
  }
  folder.write("twice/bob/p0_jpg" + kHash1.substr(0, 30) + "ff.txt", "0 0.5 0.5 1 1\n");
  ReadOptions options;
  std::string sizes;
  for (const std::string& hash : {kHash1, kHash2, kHash1.substr(0, 30) + "ff"}) sizes += "p0_jpg" + hash + ".jpg,9,9\n";
  options.sizes_csv = folder.write("sizes.csv", sizes);
  const Read yolo = read({folder / "yolo"}, options);
  EXPECT_EQ(yolo.data.assignments.size(), 2U);
  EXPECT_TRUE(yolo.notes_have("1 image is tied to another annotator's")) << yolo.all_notes();
  EXPECT_EQ(yolo.data.annotation_begin[1], 2U) << "both drew on one image";
  EXPECT_FALSE(read({folder / "yolo/ann", folder / "yolo/bob"}, options).notes_have("no image is in two"));
  EXPECT_FALSE(read({folder / "split"}, options).notes_have("is tied to another")) << "one annotator's";
  EXPECT_FALSE(read({folder / "twice"}, options).notes_have("is tied to another")) << "which of bob's two?";
}

TEST(PictureNames, FoldersOfPeoplesComputersDoNotCount) {
  const TemporaryFolder folder;
  const auto table = [&](const std::string& who, const std::string& rows) {
    return folder.write(who + ".csv", "image,label,xmin,ymin,xmax,ymax\n" + rows);
  };
  const std::string box = ",car,1,1,5,5\n";
  const Read three = read({table("ann", "C:\\Users\\ann\\pics\\a.jpg" + box),
                           table("bob", "/home/bob/pics/a.jpg" + box), table("eve", "a.jpg" + box)});
  EXPECT_EQ(three.data.images.size(), 1U);
  EXPECT_EQ(three.data.annotations.size(), 3U);
  EXPECT_EQ(read({table("one", "C:\\pics\\a.jpg" + box + "C:/pics/a.jpg" + box)}).data.images.size(), 1U);
}

TEST(PictureNames, LabelsWithoutACommonPictureAreTold) {
  const TemporaryFolder folder;
  const Read found = read({folder.write("ann.json", coco("x1.jpg")), folder.write("bob.json", coco("y1.jpg"))});
  EXPECT_TRUE(
      found.notes_have("no image is in two annotators' labels; the images' names look like \"x1.jpg\" (ann) "
                       "and \"y1.jpg\" (bob)"))
      << found.all_notes();
}

// Label Studio.

std::string studio(const std::string& labels) {
  return R"([{"id": 1, "data": {"image": "a.jpg"}, "annotations": [{"id": 1, "completed_by": 1, "result": [{"type":
    "rectanglelabels", "original_width": 100, "original_height": 50, "value": {"x": 10, "y": 10, "width": 10,
    "height": 10, "rectanglelabels": [)" +
         labels + "]}}]}]}]";
}

TEST(LabelStudioNames, LabelsThatABoxLosesAreCounted) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read({folder.write("two.json", studio(R"("cat", "dog")"))})
                  .notes_have("1 box has several labels, of which only the first is kept"));
  EXPECT_TRUE(read({folder.write("one.json", studio(R"("cat")"))}).notes.empty());
}

TEST(LabelStudioNames, JsonMinKeepsTheProjectsNames) {
  const TemporaryFolder folder;
  ConsensusOptions options;
  use_names_of_export(
      folder.write("min.json", R"([{"id": 1, "created_at": "now", "annotator": 1, "annotation_id": 2, "bbox": [],
      "photo": "a.jpg"}, {"id": 2, "photo": "b.jpg", "annotator": 1, "annotation_id": 3, "bbox": [{"x": 1, "y": 1,
      "width": 2, "height": 2, "rectanglelabels": ["cat"], "original_width": 9, "original_height": 9}]}])"),
      options);
  EXPECT_EQ(options.data_key, "photo");
  EXPECT_EQ(options.from_name, "bbox");
}

TEST(LabelStudioNames, AConsensusIsReadAsPredictionsOverTheLabelsItCameFrom) {
  const TemporaryFolder folder;
  const std::string upload = "/data/upload/3/1f2e3d4c-my%20cat.jpg";
  CrowdData data = read_crowd({folder.write("p.json", with(studio("\"cat\""), "a.jpg", upload))});
  const auto predictions = [&](const std::string& id, const std::string& file) {
    const std::string path =
        folder.write("c.json", "[{" + id + R"("data": {"image": ")" + file + R"("}, "annotations": [], "predictions": [{
        "model_version": "bdc", "score": 0.5, "result": [{"type": "rectanglelabels", "original_width": 100,
        "original_height": 50, "score": 0.5, "value": {"x": 10, "y": 10, "width": 10, "height": 10, "rotation": 0,
        "rectanglelabels": ["cat"]}}]}]}])");
    return read_predictions(path, data).box.size();
  };
  EXPECT_EQ(predictions(R"("id": 1, )", upload), 1U);
  EXPECT_EQ(predictions("", upload), 1U) << "a task without an id";
  EXPECT_EQ(predictions(R"("id": 77, )", upload), 1U) << "another id, the same file";
  EXPECT_EQ(predictions(R"("id": 1, )", "/data/upload/9/99887766-my%20cat.jpg"), 1U);
  EXPECT_NE(error_of([&] { (void)predictions(R"("id": 1, )", "dog.jpg"); }).find("is another file in the data"),
            std::string::npos);
}

// YOLO.

TEST(YoloExports, LabelStudiosNotesBesideTheLabelsAreNoLabels) {
  const TemporaryFolder folder;
  folder.write("ls/classes.txt", "car\n");
  folder.write("ls/notes.json", R"({"categories": [{"id": 0, "name": "car"}], "info": {"year": 2026}})");
  folder.write("ls/labels/p.txt", "0 0.5 0.5 1 1\n");
  folder.write("ls/images/p.png", data_text("yolo_images/img_p.png"));
  EXPECT_EQ(read({folder / "ls"}).data.annotations.size(), 1U);
}

TEST(YoloExports, ClassesMayBeWrittenWithAPoint) {
  const TemporaryFolder folder;
  folder.write("set/ann/p.txt", "0.0 0.5 0.5 1 1\n1.000000 0.5 0.5 0.5 0.5\n");
  folder.write("sizes.csv", "p.png,10,10\n");
  ReadOptions options;
  options.sizes_csv = folder / "sizes.csv";
  const CrowdData data = read({folder / "set"}, options).data;
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(data.classes.at(0).id.text, "0");
  EXPECT_EQ(data.classes.at(1).id.text, "1");
  folder.write("set/ann/p.txt", "0.5 0.5 0.5 1 1\n");
  options.format = "yolo";
  EXPECT_NE(error_of([&] { (void)read({folder / "set"}, options); }).find("expected a class number from 0"),
            std::string::npos);
}

TEST(YoloExports, PicturesMayBeSharedByTheFoldersOfSeveralAnnotators) {
  const TemporaryFolder folder;
  folder.write("set/first/labels/p.txt", "0 0.5 0.5 1 1\n");
  folder.write("set/second/labels/p.txt", "0 0.5 0.5 1 1\n");
  folder.write("set/images/p.png", data_text("yolo_images/img_p.png"));
  for (const Names& paths : {Names{folder / "set"}, Names{folder / "set/first/labels", folder / "set/second/labels"}}) {
    const CrowdData data = read(paths).data;
    EXPECT_EQ(annotators_of(data), (Names{"first", "second"}));
    ASSERT_EQ(data.images.size(), 1U);
    EXPECT_EQ(data.images[0].width, 12);
  }
}

// Byte order marks, spreadsheets.

TEST(ByteOrderMarks, AreNoPartOfAnyFormat) {
  const std::string mark = "\xEF\xBB\xBF";
  const TemporaryFolder folder;
  const std::string via =
      "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes\n"
      "a.jpg,9,\"{}\",1,0,\"{\"\"name\"\":\"\"rect\"\",\"\"x\"\":1,\"\"y\"\":1,\"\"width\"\":5,\"\"height\"\":5}\",\"{"
      "\"\"type\"\":\"\"car\"\"}\"\n";
  EXPECT_EQ(read({folder.write("via.csv", mark + via)}).data.annotations.size(), 1U);
  folder.write("yolo/ann/p.txt", mark + "0 0.5 0.5 1 1\n");
  ReadOptions options;
  options.sizes_csv = folder.write("sizes.csv", "p.png,10,10\n");
  EXPECT_EQ(read({folder / "yolo"}, options).data.annotations.size(), 1U);
  for (const char* file : {"sagemaker/request.json", "sagemaker/output.manifest"}) {
    EXPECT_EQ(parse(mark + data_text(file), "sagemaker").annotations.size(),
              parse(data_text(file), "sagemaker").annotations.size())
        << file;
  }
}

TEST(Datumaro, AnnotationsWithoutALabelAreLeftOutWithACount) {
  const TemporaryFolder folder;
  const Read found = read({folder.write(
      "d.json", R"({"categories": {"label": {"labels": [{"name": "car"}]}}, "items": [{"id": "a", "annotations": [
      {"id": 1, "type": "bbox", "label_id": null, "bbox": [1, 2, 3, 4]}, {"id": 2, "type": "bbox", "label_id": 0,
      "bbox": [1, 2, 3, 4]}], "image": {"path": "a.jpg", "size": [80, 90]}}]})")});
  EXPECT_EQ(found.data.annotations.size(), 1U);
  EXPECT_TRUE(found.notes_have("1 annotation without a label is left out")) << found.all_notes();
}

TEST(Spreadsheets, AreReadAsProgramsSaveThem) {
  const TemporaryFolder folder;
  const auto box_of = [&](const std::string& name, const std::string& text) {
    const CrowdData data = read({folder.write(name, text)}).data;
    EXPECT_EQ(data.annotations.size(), 1U) << name;
    return data.annotations.empty() ? Box{} : data.annotations[0].box;
  };
  const Box box{1, 2, 5, 8};
  EXPECT_EQ(box_of("excel.csv", "image,label,xmin,ymin,xmax,ymax\na.jpg,car,1,2,5,8\n,,,,,\n,,,,\n"), box);
  EXPECT_EQ(box_of("blanks.csv", "Image Name,Label,X Min,Y Min,X Max,Y Max\na.jpg,car,1,2,5,8\n"), box);
  EXPECT_EQ(box_of("sep.csv", "sep=;\r\nimage;label;xmin;ymin;xmax;ymax\r\na.jpg;car;1;2;5;8\r\n"), box);
  EXPECT_EQ(box_of("tabs.tsv", "image\tlabel\txmin\tymin\txmax\tymax\na.jpg\tcar\t1\t2\t5\t8\n"), box);
  const Read extent = read(
      {folder.write("extent.csv", "image,label,x,y,width,height,image_width,image_height\na.jpg,car,1,2,4,6,90,80\n")});
  ASSERT_EQ(extent.data.annotations.size(), 1U);
  EXPECT_EQ(extent.data.annotations[0].box, box);
  EXPECT_EQ(extent.data.images[0].width, 90);
}

TEST(CvatNames, FoldersAreToldOfWhereTheyNameSomebody) {
  const TemporaryFolder folder;
  const auto job = [&](const std::string& name, const std::string& who) {
    const std::string assignee = who.empty() ? "" : "<assignee><username>" + who + "</username></assignee>";
    return folder.write(name + "/annotations.xml", "<annotations><meta><job><id>1</id>" + assignee + "</job></meta>" +
                                                       frame("") + "</annotations>");
  };
  const Read found = read({job("job_1", "ann"), job("job_2", "bob"), job("job_3", "")});
  EXPECT_EQ(annotators_of(found.data), (Names{"ann", "bob", "job_3"}));
  EXPECT_TRUE(found.notes_have("annotators are named after folders: \"job_3\"")) << found.all_notes();
}

// What is not read says what it is.

TEST(Refusals, NameWhatAFileIs) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& name, const std::string& text) {
    const std::string path = folder.write(name, text);
    return error_of(
        [&] { (void)read({name.find('/') == std::string::npos ? path : folder / name.substr(0, name.find('/'))}); });
  };
  const auto expect = [](const std::string& found, const std::string& part) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  expect(error("via3.json", R"({"project": {"pid": "1", "data_format_version": "3.1.1"}, "config": {}, "file": {},
      "metadata": {}, "view": {}})"),
         "a project of VIA 3, which is not read");
  const std::string any = error("any.json", R"({"settings": {"colour": 1}})");
  expect(any, "no labels are recognised in this JSON object");
  EXPECT_EQ(any.find("read as crowd"), std::string::npos) << any;
  const std::string xml = "<annotation><filename>a.jpg</filename><object><name>car</name>";
  expect(error("no.xml", xml + "</object></annotation>"), "expected <bndbox> in <object>, found none");
  expect(error("dota/labelTxt/P0.txt", "10 10 20 10 20 20 10 20 plane 0\n"), "DOTA's text with rotated boxes");
  const std::string table = error("mine.csv", "foto,xmin,ymin,xmax,ymax,klass,wer\na.jpg,1,2,3,4,car,ann\n");
  expect(table, "--format csv --columns");
  ReadOptions options;
  options.format = "csv";
  options.columns = "image=foto,class=klass,annotator=wer";
  EXPECT_EQ(annotators_of(read({folder / "mine.csv"}, options).data), Names{"ann"}) << "as the message says";
}

TEST(Refusals, AZipFileInAZipFileIsTold) {
  const TemporaryFolder folder;
  const std::string inner = make_zip(folder / "inner.zip", {{"b.json", coco("b.jpg")}});
  const std::string outer =
      make_zip(folder / "outer.zip", {{"a.json", coco("a.jpg")}, {"inner.zip", read_file(inner)}});
  EXPECT_TRUE(read({outer}).notes_have("inner.zip: a zip file inside of a zip file is not read; unpack it first"));
  const std::string alone = make_zip(folder / "alone.zip", {{"inner.zip", read_file(inner)}});
  EXPECT_NE(error_of([&] { (void)read({alone}); }).find("a zip file inside of a zip file: unpack the outer one"),
            std::string::npos);
}

TEST(Messages, CountOneThingInTheSingular) {
  EXPECT_EQ((Loss{"class ids (classes are numbered anew)", 1}.text()), "1 class id (classes are numbered anew)");
  EXPECT_EQ((Loss{"true boxes marked iscrowd (the mark)", 1}.text()), "1 true box marked iscrowd (the mark)");
  EXPECT_EQ((Loss{"classes without boxes", 1}.text()), "1 class without boxes");
  EXPECT_EQ((Loss{"classes without boxes", 2}.text()), "2 classes without boxes");
  EXPECT_EQ((Loss{"image ids that are strings of digits (they read back as integers)", 1}.text()),
            "1 image id that is a string of digits (it reads back as an integer)");
  EXPECT_EQ(in_quotes("\"RED\""), "'\"RED\"'");
  const TemporaryFolder folder;
  const std::string text = validate_crowd({folder.write("one.json", coco("a.jpg"))}).text();
  EXPECT_NE(text.find("1 image, 1 class, 1 annotator, 1 annotation, 1 assignment"), std::string::npos) << text;
  EXPECT_NE(text.find("1 annotator who saw only one image ["), std::string::npos) << text;
}

}  // namespace
}  // namespace bdc::test
