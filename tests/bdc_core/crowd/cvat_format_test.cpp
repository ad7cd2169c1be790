#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

TEST(CvatFormat, ReadsTheHandWrittenFiles) {
  ProblemLog log(ProblemLog::Mode::lenient);
  ReadOptions options;
  options.problems = &log;
  const CrowdData data = read_crowd({data_path("cvat/task_alice.xml"), data_path("cvat/bob.xml")}, options);
  ASSERT_EQ(data.images.size(), 3U);
  expect_same_id(data.images[1].id, {"1", true});
  EXPECT_EQ(data.images[1].file, "filename001.jpg");
  EXPECT_EQ(data.images[1].width, 1600);
  ASSERT_EQ(data.classes.size(), 2U);
  EXPECT_EQ(data.classes[0].name, "car");
  ASSERT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.annotators[0].id.text, "alice") << "the task's assignee";
  EXPECT_EQ(data.annotators[1].id.text, "bob") << "the file's name";
  ASSERT_EQ(data.annotations.size(), 3U);
  EXPECT_EQ(data.annotations[0].box, (Box{600.56, 386.47, 733, 521.42}));
  EXPECT_EQ(data.annotations[1].annotator, 1);
  const Box turned = data.annotations[2].box;  // 40 x 20 about (40, 50), turned by 90 degrees
  EXPECT_NEAR(turned.x1, 30, 1e-9);
  EXPECT_NEAR(turned.y1, 30, 1e-9);
  EXPECT_NEAR(turned.x2, 50, 1e-9);
  EXPECT_NEAR(turned.y2, 70, 1e-9);
  EXPECT_TRUE(data.assignments_known);
  EXPECT_EQ(data.assignments.size(), 4U);
  EXPECT_EQ(log.entry(ProblemKind::ignored_shape).count, 2U) << "a polygon and a rotated box";
  EXPECT_EQ(log.count(Severity::error), 0U);
}

TEST(CvatFormat, AJobsAssigneeComesFirst) {
  const std::string text =
      R"(<annotations><meta><job><assignee>eve</assignee></job><task><assignee>x</assignee></task></meta>
    <image id="0" name="a.jpg"/></annotations>)";
  EXPECT_EQ(parse(text, "cvat", "f.xml").annotators.at(0).id.text, "eve");
}

TEST(CvatFormat, ImagesKeepTheirNamesAsIdsWhenNumbersClash) {
  const TemporaryFolder folder;
  folder.write("a.xml", R"(<annotations><image id="0" name="a.jpg"/></annotations>)");
  folder.write("b.xml", R"(<annotations><image id="0" name="b.jpg"/></annotations>)");
  const CrowdData data = read_crowd({folder.path()});
  ASSERT_EQ(data.images.size(), 2U);
  expect_same_id(data.images[1].id, {"b.jpg", false});
}

TEST(CvatFormat, BrokenFilesSayWhereAndWhat) {
  const std::string good = data_text("cvat/task_alice.xml");
  const std::vector<BrokenFile> cases = {
      {"", "c.xml:1: expected XML, found an empty file"},
      {good.substr(0, 900), "broken XML"},
      {"<annotation/>", "c.xml:1: expected CVAT XML with the root <annotations>, found <annotation>"},
      {with(good, "<image id=\"0\"", "<track id=\"0\"/><image id=\"0\""),
       "c.xml:32: expected \"CVAT for images\" or \"CVAT for video\", found <image> and <track>"},
      {with(good, " name=\"filename001.jpg\"", ""), "c.xml:38: expected the attribute name in <image>, found none"},
      {with(good, "filename001.jpg", "filename000.jpg"),
       "c.xml:38: the image \"filename000.jpg\" stands twice in this file"},
      {with(good, "width=\"1600\"", "width=\"wide\""), "c.xml:32: expected a whole number as width, found \"wide\""},
      {with(good, "width=\"1600\"", "width=\"0\""), "c.xml:32: expected an image's width and height above 0"},
      {with(good, "<box label=\"car\"", "<box"), "c.xml:33: expected the attribute label in <box>, found none"},
      {with(good, "<box label=\"car\"", "<box label=\"cars\""),
       "c.xml:33: label \"cars\" is not in the list of classes (2 known); nearest name \"car\""},
      {with(good, "xtl=\"600.56\"", ""), "c.xml:33: expected a number as xtl of <box>, found \"\""},
      {with(good, "600.56", "6OO"), "c.xml:33: expected a number as xtl of <box>, found \"6OO\""},
      {with(good, "600.56", "800"), "c.xml:33: expected a box with x1 < x2"},
      {with(good, "600.56", "733"), "c.xml:33: expected a box with width and height above 0"},
      {with(good, "600.56", "nan"), "c.xml:33: expected a box of finite numbers"},
      {with(good, "90.0", "right"), "c.xml:41: expected a number as rotation of <box>, found \"right\""},
      {with(good, "<label><name>person", "<label><name>car"), "c.xml:22: the label \"car\" is defined twice"},
      {with(good, "<name>person</name>", ""), "c.xml:22: expected <name> in <label>, found none"},
      {with(good, "filename001", "file\xFFname"), "c.xml:38: expected text in UTF-8"},
  };
  expect_refused_by("cvat", cases, "c.xml");
}

TEST(CvatFormat, AFrameOfAVideoIsAnImage) {
  std::vector<std::string> notes;
  ReadOptions options;
  options.notes = &notes;
  const CrowdData data = read_crowd({data_path("cvat/video.xml")}, options);
  ASSERT_EQ(data.images.size(), 5U) << "frames 10, 12, ..., 18, with boxes or without";
  EXPECT_EQ(data.images[1].file, "crossing/frame_000012");
  EXPECT_EQ(data.images[1].width, 640);
  EXPECT_EQ(data.annotators.at(0).id.text, "alice");
  EXPECT_EQ(data.assignments.size(), 5U);
  ASSERT_EQ(data.annotations.size(), 2U) << "outside is not drawn";
  EXPECT_EQ(data.annotations[0].box, (Box{10, 20, 60, 40.5}));
  EXPECT_EQ(data.annotations[1].box, (Box{12, 20, 62, 40.5}));
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_NE(notes[0].find("1 of 3 boxes were interpolated by CVAT"), std::string::npos) << notes[0];
  EXPECT_EQ(notes[1].rfind("1 shape that is not a box is left out", 0), 0U) << notes[1];
}

TEST(CvatFormat, FramesBetweenKeyframesThatAreNotListedAreLeftOut) {
  // Only the keyframes 10 and 16 of the car: what lies between, and after, is not told.
  std::string text = data_text("cvat/video.xml");
  text = with(text, "frame=\"12\" outside=\"0\" occluded=\"0\" keyframe=\"0\" xtl",
              "frame=\"16\" outside=\"0\" keyframe=\"1\" xtl");
  text = with(text,
              "<box frame=\"14\" outside=\"1\" occluded=\"0\" keyframe=\"1\" xtl=\"12\" ytl=\"20\" xbr=\"62\" "
              "ybr=\"40.5\" z_order=\"0\"></box>",
              "");
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  ReadOptions options;
  options.notes = &notes;
  options.shapes_to_boxes = true;
  const CrowdData data = read_crowd({folder.write("v.xml", text)}, options);
  ASSERT_EQ(data.images.size(), 2U) << "10 and 16; 12, 14 and 18 are not told";
  EXPECT_EQ(data.images[1].file, "crossing/frame_000016");
  EXPECT_EQ(data.annotations.size(), 2U);
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes[0].find("3 frames left out, with 1 box"), std::string::npos) << notes[0];
}

TEST(CvatFormat, TwoAnnotatorsOfOneVideoSeeTheSameFrames) {
  const TemporaryFolder folder;
  const std::string bob = with(data_text("cvat/video.xml"), "alice", "bob");
  const CrowdData data = read_crowd({data_path("cvat/video.xml"), folder.write("b.xml", bob)});
  EXPECT_EQ(data.annotators.size(), 2U);
  EXPECT_EQ(data.images.size(), 5U);
  EXPECT_EQ(data.annotations.size(), 4U);
}

TEST(CvatFormat, BrokenVideosSayWhereAndWhat) {
  const std::string good = data_text("cvat/video.xml");
  expect_refused_by(
      "cvat",
      {{with(good, "frame=\"12\"", "frame=\"13\""), "c.xml:21: expected a frame of the video as frame, found \"13\""},
       {with(good, "frame=\"12\"", "frame=\"10\""), "c.xml:21: the frame 10 stands twice in this track"},
       {with(good, "frame=\"12\"", "frame=\"99\""), "found \"99\""},
       {with(good, "<stop_frame>18", "<stop_frame>9000000000"), "at most a million"},
       {with(good, "step=2", "step=-1"), "expected the frames of a video"},
       {with(good, "label=\"car\"", "label=\"cars\""), "nearest name \"car\""}},
      "c.xml");
}

TEST(CvatFormat, AnAttributeOfTheBoxesMayNameWhoDrew) {
  const auto box = [](const char* who, const char* x) {
    return std::string(R"(<box label="cat" xtl=")") + x +
           R"(" ytl="20" xbr="50" ybr="60"><attribute name="annotator">)" + who + "</attribute></box>";
  };
  const TemporaryFolder folder;
  const std::string path =
      folder.write("all.xml", R"(<annotations><image id="0" name="a.jpg" width="90" height="90">)" + box("ann", "10") +
                                  box("bob", "11") + "</image></annotations>");
  const Read told = read({path});
  EXPECT_EQ(annotators_of(told.data), (Names{"all"}));
  EXPECT_TRUE(told.notes_have("\"attributes.annotator\" of the boxes has 2 different values")) << told.all_notes();
  for (const char* key : {"annotator", "attributes.annotator"}) {
    ReadOptions options;
    options.annotator_key = key;
    const Read found = read({path}, options);
    EXPECT_EQ(annotators_of(found.data), (Names{"ann", "bob"})) << key;
    EXPECT_EQ(found.data.annotations.size(), 2U);
  }
  ReadOptions wrong;
  wrong.annotator_key = "who";
  EXPECT_NE(error_of([&] { (void)read_crowd({path}, wrong); }).find("expected the attribute \"who\""),
            std::string::npos);
}

TEST(CvatFormat, BoxesOfAMachineAreTold) {
  const std::string start = R"(<annotations><image id="0" name="a.jpg" width="90" height="90">)";
  const std::string automatic = R"(<box label="cat" source="auto" xtl="1" ytl="20" xbr="50" ybr="60"/>)";
  const std::string manual = R"(<box label="cat" source="manual" xtl="1" ytl="2" xbr="50" ybr="60"/>)";
  const auto note = [&](const std::string& boxes) {
    const TemporaryFolder folder;
    const Read found = read({folder.write("ann.xml", start + boxes + "</image></annotations>")});
    EXPECT_FALSE(found.data.annotations.empty());
    return found.all_notes();
  };
  EXPECT_NE(note(automatic).find("all 1 box was made by a machine"), std::string::npos) << note(automatic);
  EXPECT_NE(note(automatic + manual).find("1 of 2 boxes were made by a machine"), std::string::npos);
  EXPECT_EQ(note(manual).find("machine"), std::string::npos);
}

}  // namespace
}  // namespace bdc::test
