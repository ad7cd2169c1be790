#include "bdc_core/crowd/io_support.h"

namespace bdc::test {
namespace {

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

}  // namespace
}  // namespace bdc::test
