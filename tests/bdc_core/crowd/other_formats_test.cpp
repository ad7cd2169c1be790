// Readers of formats that are read and not written: LabelMe, Datumaro, tables.
#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

TEST(LabelMeFormat, ReadsTheHandWrittenFolder) {
  std::vector<std::string> notes;
  ReadOptions options;
  options.notes = &notes;
  const CrowdData data = read_crowd({data_path("labelme")}, options);
  ASSERT_EQ(data.images.size(), 1U);
  EXPECT_EQ(data.images[0].file, "a.jpg");
  EXPECT_EQ(data.images[0].width, 90);
  ASSERT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.annotators[1].id.text, "bob");
  EXPECT_EQ(data.assignments.size(), 2U) << "bob saw the image and drew nothing";
  ASSERT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(data.annotations[0].box, (Box{10, 20, 60.5, 40})) << "corners in any order";
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].rfind("1 shape that is not a box is left out", 0), 0U) << notes[0];
  options.shapes_to_boxes = true;
  const CrowdData all = read_crowd({data_path("labelme")}, options);
  ASSERT_EQ(all.annotations.size(), 2U);
  EXPECT_EQ(all.annotations[1].box, (Box{1, 2, 9, 30}));
}

TEST(LabelMeFormat, MasksHaveTheirCornersAsPoints) {
  const std::string text = R"({"imagePath": "a.jpg", "imageWidth": 90, "imageHeight": 80, "shapes": [{"label": "car",
    "shape_type": "mask", "points": [[1, 2], [30, 20]], "mask": "iVBORw0KGgo="}]})";
  ReadOptions options;
  options.shapes_to_boxes = true;
  EXPECT_EQ(parse(text, "labelme", "ann/a.json", options).annotations.at(0).box, (Box{1, 2, 30, 20}));
}

TEST(LabelMeFormat, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("labelme/ann/a.json");
  expect_refused_by(
      "labelme",
      {{with(good, "\"shapes\"", "\"forms\""), "expected the member \"shapes\", found none"},
       {with(good, "\"label\": \"car\", ", ""), "in:5: shapes[0]: expected the member \"label\", found none"},
       {with(good, "[60.5, 40.0]", "[60.5]"), "expected a point of 2 numbers, found 1"},
       {with(good, "[60.5, 40.0]", "[10, 40]"), "in:5: shapes[0]: expected a box with width and height above 0"},
       {with(good, "60.5", "\"x\""), "expected a number"},
       {good.substr(0, good.size() / 2), "in:"},
       {"[]", "expected"}});
}

TEST(DatumaroFormat, ReadsTheHandWrittenFile) {
  const CrowdData data = read_crowd({data_path("datumaro/ann.json")});
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[0].file, "train/a.jpg");
  EXPECT_EQ(data.images[0].width, 90);
  EXPECT_EQ(data.images[0].height, 80);
  EXPECT_EQ(class_names(data), (std::vector<std::string>{"car", "tree"}));
  ASSERT_EQ(data.annotators.size(), 1U);
  EXPECT_EQ(data.annotators[0].id.text, "ann");
  EXPECT_EQ(data.assignments.size(), 2U);
  ASSERT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(data.annotations[0].box, (Box{10, 20, 40, 60}));
  EXPECT_EQ(data.annotations[0].label, 1);
}

TEST(DatumaroFormat, ClassesOfSeveralFilesAreTiedByName) {
  const TemporaryFolder folder;
  std::string other = with(data_text("datumaro/ann.json"), "\"car\"", "\"x\"");
  other = with(with(other, "\"tree\"", "\"car\""), "\"x\"", "\"tree\"");
  const CrowdData data = read_crowd({data_path("datumaro/ann.json"), folder.write("bob.json", other)});
  EXPECT_EQ(data.classes.size(), 2U);
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_NE(data.annotations[0].label, data.annotations[1].label);
}

TEST(DatumaroFormat, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("datumaro/ann.json");
  expect_refused_by("datumaro",
                    {{with(good, "\"items\"", "\"things\""), "expected items, found none"},
                     {with(good, "\"label_id\": 1", "\"label_id\": 7"), "label_id 7 is not in the list of classes"},
                     {with(good, "[10, 20, 30, 40]", "[10, 20, 30]"), "expected a bbox of 4 numbers"},
                     {with(good, "\"id\": \"train/a\", ", ""), "expected the member \"id\", found none"},
                     {with(good, "\"name\": \"car\"", "\"nam\": \"car\""), "expected the member \"name\""}});
}

TEST(CsvFormat, ATableWithTitlesOfItsOwnIsAskedForItsColumnsAndReadWithThem) {
  const TemporaryFolder folder;
  folder.write("mine.csv", "shot,what,x1,y1,x2,y2\na.jpg,cat,1,2,3,4\n");
  const std::string error = error_of([&] { (void)read_crowd({folder / "mine.csv"}, {}); });
  EXPECT_NE(error.find("name them with --columns"), std::string::npos) << error;
  ReadOptions options;
  options.columns = "image=shot,class=what,x1=x1,y1=y1,x2=x2,y2=y2";
  EXPECT_EQ(read_crowd({folder / "mine.csv"}, options).annotations.size(), 1U) << "naming columns names the format";
}

TEST(CsvFormat, ACornerThatStandsTwiceInTheHeadingIsAskedFor) {
  const std::string error = parse_error("filename,class,xmin,ymin,xmin,width,height\na.jpg,cat,1,2,3,4,5\n", "csv");
  EXPECT_NE(error.find("two columns may be the x (\"xmin\" and \"xmin\")"), std::string::npos) << error;
}

TEST(CsvFormat, ReadsTheHandWrittenTable) {
  const CrowdData data = read_crowd({data_path("csv/boxes.csv")});
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[1].file, "b.jpg");
  EXPECT_EQ(data.images[0].height, 80);
  ASSERT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.annotators[0].id.text, "w1");
  ASSERT_EQ(data.annotations.size(), 2U);
  EXPECT_EQ(data.annotations[0].box, (Box{10, 20, 60.5, 40}));
  EXPECT_EQ(data.classes[1].name, "traffic, light");
  EXPECT_EQ(data.assignments.size(), 3U) << "w1 saw b.jpg and drew nothing";
}

TEST(CsvFormat, ColumnsMayBeNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.csv", "Bild,Wer,Was,links,oben,breit,hoch\na.jpg,ann,Auto,1,2,30,40\n");
  const std::string unknown = error_of([&] { static_cast<void>(read_crowd({path})); });
  EXPECT_NE(unknown.find("t.csv"), std::string::npos) << unknown;
  ReadOptions options;
  options.format = "csv";
  options.columns = "image=Bild,annotator=Wer,class=Was,x=links,y=oben,w=breit,h=hoch";
  const CrowdData data = read_crowd({path}, options);
  ASSERT_EQ(data.annotations.size(), 1U);
  EXPECT_EQ(data.annotations[0].box, (Box{1, 2, 31, 42}));
  EXPECT_EQ(data.annotators.at(0).id.text, "ann");
}

TEST(CsvFormat, OpenImagesNumbersAreSharesAndOthersMustSaySo) {
  const TemporaryFolder folder;
  ReadOptions options;
  options.sizes_csv = folder.write("s.csv", "000a.jpg,200,100\n");
  const CrowdData data =
      read_crowd({folder.write("oi.csv",
                               "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax\n000a,xclick,/m/01g317,1,0.1,"
                               "0.5,0.2,0.4\n")},
                 options);
  ASSERT_EQ(data.annotations.size(), 1U);
  EXPECT_NEAR(data.annotations[0].box.x2, 100, 1e-9);
  EXPECT_NEAR(data.annotations[0].box.y1, 20, 1e-9);
  EXPECT_EQ(data.annotators.at(0).id.text, "oi");
  const std::string error = error_of([&] {
    static_cast<void>(
        read_crowd({folder.write("t.csv", "image,label,x1,y1,x2,y2\na.jpg,car,0.1,0.1,0.5,0.5\n")}, options));
  });
  EXPECT_NE(error.find("may be shares of the image's size or pixels"), std::string::npos) << error;
}

TEST(CsvFormat, BrokenTablesSayWhereAndWhat) {
  const std::string good = data_text("csv/boxes.csv");
  expect_refused_by("csv", {{"", "in:1: expected a heading"},
                            {with(good, "xmin", "foo"), "in:1: expected columns for image, class and x1,y1,x2,y2"},
                            {with(good, "w1,10", ",10"), "in:2: expected an annotator, found nothing"},
                            {with(good, "a.jpg,90", ",90"), "in:2: expected an image, found nothing"},
                            {with(good, "60.5", "wide"), "in:2: expected a number as x2, found \"wide\""},
                            {with(good, "60.5", ""), "in:2: expected 4 numbers or none, found some missing"},
                            {with(good, ",car,", ",,"), "in:2: expected a class, found nothing"},
                            {with(good, "60.5,40", "60.5"), "in:2: expected 9 fields as in the heading, found 8"},
                            {with(good, "60.5", "5"), "in:2: expected a box with x1 < x2"},
                            {with(good, "worker_id", "label"), "in:1: two columns may be the class"}});
  ReadOptions options;
  options.columns = "picture=filename";
  EXPECT_NE(parse_error(good, "csv", "in", options).find("--columns: expected image, annotator, class"),
            std::string::npos);
  options.columns = "image=foto";
  EXPECT_NE(parse_error(good, "csv", "in", options).find("expected the column \"foto\" of --columns"),
            std::string::npos);
}

TEST(CsvFormat, SemicolonsAndTabsSeparateWhenTheHeadingHasNoCommas) {
  for (const char separator : {';', '\t'}) {
    std::string text = "image;annotator;class;x1;y1;x2;y2\na.jpg;ann;a, b;1.5;2;30;40\n";
    for (char& c : text) c = c == ';' ? separator : c;
    const TemporaryFolder folder;
    folder.write("t.csv", text);
    std::vector<std::string> notes;
    ReadOptions options;
    options.notes = &notes;
    const CrowdData data = read_crowd({folder / "t.csv"}, options);
    ASSERT_EQ(data.annotations.size(), 1U);
    EXPECT_EQ(data.annotations[0].box, (Box{1.5, 2, 30, 40}));
    EXPECT_EQ(data.classes[0].name, "a, b");
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_NE(notes[0].find(separator == ';' ? "separated by semicolons" : "separated by tabs"), std::string::npos);
  }
  expect_refused_by("csv", {{"image;class;x1;y1;x2;y2\na.jpg;car;1,5;2;30;40\n",
                             "in:2: expected a number as x1, found \"1,5\"; decimal commas are not read"}});
}

TEST(CsvFormat, TitlesOfSeveralLinesAreOneLine) {
  const CrowdData data = parse("\"image\n\",\"class\r\nname\",x1,y1,x2,y2\na.jpg,car,1,2,30,40\n", "csv", "in", [] {
    ReadOptions options;
    options.columns = "class=class name";
    return options;
  }());
  EXPECT_EQ(data.annotations.size(), 1U);
  expect_refused_by("csv", {{"\"my\npicture\",class\na.jpg,car\n", "found the heading \"my picture, class\""}});
}

TEST(CsvFormat, AColumnThatMayNameAPersonIsTold) {
  std::vector<std::string> notes;
  ReadOptions options;
  options.notes = &notes;
  static_cast<void>(parse("image,class,created_by,x1,y1,x2,y2\na.jpg,car,ann,1,2,30,40\n", "csv", "in", options));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("--columns annotator=created_by"), std::string::npos) << notes[0];
}

}  // namespace
}  // namespace bdc::test
