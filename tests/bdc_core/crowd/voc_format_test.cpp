#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

/// A file in the folder eva.
Read read_text(const std::string& text, const ReadOptions& options = {}) {
  const TemporaryFolder folder;
  return read({std::filesystem::path(folder.write("eva/a.xml", text)).parent_path().string()}, options);
}

const char* const kExample = "voc/alice/000005.xml";

TEST(VocFormat, ReadsTheHandWrittenFolder) {
  const CrowdData data = read_crowd({data_path("voc")});
  ASSERT_EQ(data.images.size(), 2U);
  EXPECT_EQ(data.images[0].id.text, "000005");
  EXPECT_EQ(data.images[0].file, "000005.jpg");
  EXPECT_EQ(data.images[0].width, 500);
  EXPECT_EQ(data.images[0].height, 375);
  ASSERT_EQ(data.classes.size(), 2U);
  EXPECT_EQ(data.classes[1].name, "dining & table");
  EXPECT_EQ(data.classes[0].id.text, "1");
  ASSERT_EQ(data.annotators.size(), 4U);
  EXPECT_EQ(data.annotators[1].id.text, "bob");
  EXPECT_EQ(data.annotators[2].id.text, "carol") << "an <annotator> element wins over the folder";
  EXPECT_EQ(data.annotators[3].id.text, "dave");
  ASSERT_EQ(data.annotations.size(), 4U);
  EXPECT_EQ(data.annotations[0].box, (Box{263, 211, 324, 339}));
  EXPECT_EQ(data.annotations[1].box, (Box{2, 1.5, 30, 4}));
  EXPECT_EQ(data.annotations[3].annotator, 3);
  EXPECT_TRUE(data.assignments_known);
  EXPECT_EQ(data.assignments.size(), 4U) << "bob saw 000005 and drew nothing";
}

TEST(VocFormat, OneBasedPixelsIncludeTheLastOne) {
  ReadOptions options;
  options.voc_one_based = true;
  EXPECT_EQ(parse(data_text(kExample), "voc", "a/x.xml", options).annotations.at(0).box, (Box{262, 210, 324, 339}));
}

TEST(VocFormat, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text(kExample);
  const std::vector<BrokenFile> cases = {
      {"", "x.xml:1: expected XML, found an empty file"},
      {"annotation", "broken XML: no document element found"},
      {good.substr(0, 400), "x.xml:19: broken XML: "},
      {with(good, "</object>", "</objekt>"), "x.xml:26: broken XML: start-end tags mismatch"},
      {"<annotations/>", "x.xml:1: expected Pascal VOC with the root <annotation>, found <annotations>"},
      {with(good, "<name>chair</name>", ""), "x.xml:15: expected <name> in <object>, found none"},
      {with(with(good, "<bndbox>", "<box>"), "</bndbox>", "</box>"),
       "x.xml:15: expected <bndbox> in <object>, found none"},
      {with(good, "263", "left"), "x.xml:15: expected a number in <xmin>, found \"left\""},
      {with(good, "<xmin>263</xmin>", ""), "x.xml:15: expected a number in <xmin>, found \"\""},
      {with(good, "<xmin>263", "<xmin>1263"), "x.xml:15: expected a box with x1 < x2"},
      {with(good, "<xmin>263", "<xmin>324"), "x.xml:15: expected a box with width and height above 0"},
      {with(good, "<xmin>263", "<xmin>inf"), "x.xml:15: expected a box of finite numbers"},
      {with(good, "<width>500", "<width>5x"), "x.xml:9: expected <width> in whole pixels, found \"5x\""},
      {with(good, "<width>500", "<width>-5"), "x.xml:9: expected an image's width and height above 0, found -5 x 375"},
      {with(good, "</size>", "</size><annotator> </annotator>"),
       "expected the annotator's name, found an empty <annotator>"},
      {with(good, "chair",
            "ch\xFF"
            "air"),
       "x.xml:15: expected text in UTF-8, found other bytes"},
  };
  expect_refused_by("voc", cases, "a/x.xml");
}

TEST(VocFormat, EntitiesAreNotExpandedAndDeepNestingIsHarmless) {
  const std::string bomb = "<!DOCTYPE a [<!ENTITY x \"chair\"><!ENTITY f SYSTEM \"file:///etc/passwd\">]>" +
                           with(data_text(kExample), "chair", "&x;&f;");
  const CrowdData data = parse(bomb, "voc", "a/x.xml");
  EXPECT_EQ(data.classes.at(0).name, "&x;&f;");
  std::string deep = "<annotation>";
  for (int i = 0; i < 200000; ++i) deep += "<a>";
  EXPECT_NE(parse_error(deep, "voc", "x.xml").find("broken XML"), std::string::npos);
  for (int i = 0; i < 200000; ++i) deep += "</a>";
  EXPECT_EQ(parse(deep + "</annotation>", "voc", "a/x.xml").images.size(), 1U);
}

std::string annotation(const std::string& inside) {
  return "<annotation><filename>a.jpg</filename>" + inside + "</annotation>";
}

TEST(VocFormat, RotatedBoxesOfRoLabelImgBecomeTheUprightBoxesAroundThem) {
  const std::string text = annotation(
      "<size><width>100</width><height>80</height></size><object><type>robndbox</type><name>ship</name><robndbox>"
      "<cx>50</cx><cy>40</cy><w>20</w><h>10</h><angle>1.5707963267948966</angle></robndbox></object>");
  const Read found = read_text(text);
  ASSERT_EQ(found.data.annotations.size(), 1U);
  const Box& box = found.data.annotations[0].box;
  EXPECT_NEAR(box.x1, 45, 1e-9);
  EXPECT_NEAR(box.y1, 30, 1e-9);
  EXPECT_NEAR(box.x2, 55, 1e-9);
  EXPECT_NEAR(box.y2, 50, 1e-9);
  EXPECT_TRUE(found.notes_have("1 shape became the upright box around it")) << found.all_notes();
  expect_refused_by(
      "voc",
      {{with(text, "<w>20</w>", "<w>wide</w>"), "expected a number in <w>, found \"wide\""},
       {with(text, "<angle>1.5707963267948966</angle>", "<angle>inf</angle>"), "finite number in <angle>"}},
      "eva/x.xml");
}

TEST(VocFormat, LabelMesWebToolSaysWhoDrew) {
  const auto points = [](const std::string& who) {
    return "<polygon><username>" + who +
           "</username><pt><x>10</x><y>20</y></pt><pt><x>60</x><y>20</y></pt><pt><x>60</x><y>50</y></pt></polygon>";
  };
  const std::string text = annotation(
      "<imagesize><nrows>480</nrows><ncols>640</ncols></imagesize><object><name>car</name><deleted>0</deleted>"
      "<type>bounding_box</type>" +
      points("ann") + "</object><object><name>car</name><deleted>1</deleted>" + points("eve") +
      "</object><object><name>tree</name><deleted>0</deleted>" + points("bob") + "</object>");
  const Read boxes = read_text(text);
  EXPECT_EQ(boxes.data.images.at(0).width, 640);
  EXPECT_EQ(boxes.data.images.at(0).height, 480);
  ASSERT_EQ(boxes.data.annotations.size(), 1U) << "a polygon is no box, and what was deleted is gone";
  EXPECT_EQ(boxes.data.annotations[0].box, (Box{10, 20, 60, 50}));
  EXPECT_EQ(annotators_of(boxes.data), Names{"ann"});
  EXPECT_TRUE(boxes.notes_have("1 shape that is not a box is left out; --shapes-to-boxes")) << boxes.all_notes();
  ReadOptions options;
  options.shapes_to_boxes = true;
  EXPECT_EQ(annotators_of(read_text(text, options).data), (Names{"ann", "bob"}));
  const std::string nobody =
      annotation("<object><name>car</name><type>bounding_box</type>" + points("anonymous") + "</object>");
  EXPECT_EQ(annotators_of(read_text(nobody).data), Names{"eva"}) << "the folder";
}

TEST(VocFormat, SizesMayBeWrittenWithAPoint) {
  const CrowdData data = read_text(annotation("<size><width>100.0</width><height>80.</height></size>")).data;
  EXPECT_EQ(data.images.at(0).width, 100);
  EXPECT_EQ(data.images.at(0).height, 80);
}

TEST(VocFormat, AFolderPerImageIsRefusedInsteadOfTakenForAnAnnotator) {
  const TemporaryFolder folder;
  for (const char* who : {"ann", "bob"}) {
    folder.write("set/a/" + std::string(who) + ".xml", annotation(""));
    folder.write("set/b/" + std::string(who) + ".xml", with(annotation(""), "a.jpg", "b.jpg"));
  }
  const std::string error = error_of([&] { (void)read_crowd({folder / "set"}); });
  EXPECT_NE(error.find("found the folder \"a\" called like the picture \"a.jpg\""), std::string::npos) << error;
}

TEST(VocFormat, LabelsOfOnePictureUnderSeveralNamesAreTold) {
  const TemporaryFolder folder;
  folder.write("set/a_ann.xml", annotation(""));
  folder.write("set/a_bob.xml", annotation(""));
  const Read found = read({folder / "set"});
  EXPECT_TRUE(found.notes_have("1 image has the file name of another (\"a_ann\" and \"a_bob\" are both \"a.jpg\")"))
      << found.all_notes();
  folder.write("same/Annotations/monday/a.xml", annotation(""));
  folder.write("same/Annotations/tuesday/a.xml", annotation(""));
  ReadOptions options;
  options.annotator = "ann";
  const Read folders = read({folder / "same"}, options);
  EXPECT_EQ(folders.data.images.size(), 2U);
  EXPECT_FALSE(folders.notes_have("file name of another")) << folders.all_notes();
}

TEST(VocFormat, AnEncodingThatIsNotReadIsRefused) {
  const std::string text = "<?xml version=\"1.0\" encoding=\"gbk\"?><annotation><filename>\xCD\xBC.png</filename>";
  EXPECT_NE(parse_error(text + "</annotation>", "voc", "eva/a.xml").find("found the encoding \"gbk\""),
            std::string::npos);
  EXPECT_EQ(parse("<?xml version='1.0' encoding='gbk'?><annotation><filename>a.png</filename></annotation>", "voc",
                  "eva/a.xml")
                .images.size(),
            1U)
      << "ASCII is the same in both";
}

}  // namespace
}  // namespace bdc::test
