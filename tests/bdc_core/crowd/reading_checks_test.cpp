// Options that a format does not use, and labels that cannot be meant as they stand.
#include "bdc/crowd/validate.h"
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

std::string coco(const std::string& boxes) {
  return R"({"images": [{"id": 1, "file_name": "a.jpg", "width": 90, "height": 80}],
            "categories": [{"id": 1, "name": "car"}], "annotations": [)" +
         boxes + "]}";
}

std::string box(const std::string& xywh) {
  return R"({"image_id": 1, "category_id": 1, "bbox": [)" + xywh + "]}";
}

const std::string kVoc =
    "<annotation><filename>a.jpg</filename><size><width>90</width><height>80</height></size><object><name>car</name>"
    "<bndbox><xmin>0</xmin><ymin>0</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object></annotation>";

TEST(ReadingChecks, OptionsThatSayNothingToAFormatAreRefused) {
  const TemporaryFolder folder;
  const std::string plain = folder.write("coco/ann.json", coco(box("0, 0, 5, 5")));
  folder.write("voc/ann/a.xml", kVoc);
  folder.write("labelme/ann/a.json", R"({"imagePath": "a.jpg", "imageWidth": 90, "imageHeight": 80, "shapes": []})");
  const std::string names = folder.write("names.txt", "car\n");
  const auto refused = [&](const std::string& set, const std::string& option, ReadOptions options) {
    const std::string error = error_of([&] { (void)read({folder / set}, options); });
    EXPECT_NE(error.find(option + " says nothing to the format"), std::string::npos) << set << ": " << error;
  };
  ReadOptions key, assignee, by_key, classes, one_based, columns;
  key.annotator_key = "who";
  assignee.annotator_from = AnnotatorFrom::assignee;
  by_key.annotator_from = AnnotatorFrom::key;
  classes.class_names = names;
  one_based.voc_one_based = true;
  columns.columns = "image=a";
  for (const char* set : {"voc", "labelme"}) {
    refused(set, "--annotator-key", key);
    refused(set, "--annotator-from assignee", assignee);
    refused(set, "--annotator-from key", by_key);
    EXPECT_EQ(read({folder / set}, classes).data.classes.size(), 1U) << set;
  }
  refused("coco", "--annotator-from assignee", assignee);
  refused("coco", "--class-names", classes);
  refused("coco", "--voc-one-based", one_based);
  refused("coco", "--columns", columns);
  refused("labelme", "--voc-one-based", one_based);
  EXPECT_EQ(read({folder / "voc"}, one_based).data.annotations.at(0).box.x1, -1);
}

TEST(ReadingChecks, AnAnnotatorWhoDrewNothingOfItIsRefused) {
  const TemporaryFolder folder;
  const std::string table =
      folder.write("all.csv", "image,label,xmin,ymin,xmax,ymax,annotator\na.jpg,car,0,0,5,5,ann\n");
  ReadOptions options;
  options.annotator = "eve";
  const std::string error = error_of([&] { (void)read({table}, options); });
  EXPECT_NE(error.find("--annotator \"eve\" was not used, as the labels say themselves who drew: \"ann\""),
            std::string::npos)
      << error;
  options.annotator = "ann";
  EXPECT_EQ(annotators_of(read({table}, options).data), Names{"ann"});
}

TEST(ReadingChecks, AFileCutOffInAMembersNameIsNamedWithoutIt) {
  const std::string whole = coco(box("0, 0, 5, 5"));
  const std::string cut = parse_error(whole.substr(0, whole.find("\"image_id") + 4), "crowd");
  EXPECT_NE(cut.find("annotations[0]: the file ends inside a string"), std::string::npos) << cut;
}

TEST(ReadingChecks, AnErrorAboutWhoDrewIsReportedByThoseWhoReadOn) {
  const TemporaryFolder folder;
  folder.write("two/ann.json", coco(box("0, 0, 5, 5")));
  folder.write("two/bob.json", coco(box("0, 0, 6, 6")));
  folder.write("three/x/result.json", coco(box("0, 0, 5, 5")));
  folder.write("three/y/result.json", coco(box("0, 0, 5, 5")));
  folder.write("three/extra.json", coco(box("0, 0, 5, 5")));
  ReadOptions by_folder;
  by_folder.annotator_from = AnnotatorFrom::folder;
  const auto first_problem = [](const std::string& path, const ReadOptions& options) {
    const ValidationReport report = validate_crowd({path}, options);
    const ProblemLog::Entry& entry = report.problems.entry(ProblemKind::unreadable_file);
    EXPECT_EQ(report.annotations, 0U);
    return entry.examples.empty() ? std::string() : entry.examples.front();
  };
  for (const auto& [set, options] : {std::pair<const char*, ReadOptions>("two", by_folder), {"three", {}}}) {
    const std::string path = folder / set;
    const std::string strict = error_of([&, given = options] { (void)read_crowd({path}, given); });
    EXPECT_EQ(first_problem(path, options), strict);
  }
}

}  // namespace
}  // namespace bdc::test
