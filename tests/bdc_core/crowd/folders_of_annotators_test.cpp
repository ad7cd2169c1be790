// Whose labels the folders of a folder hold, in the formats with a file per image.
#include "bdc/base/text.h"
#include "bdc_core/crowd/make_zip.h"
#include "bdc_core/crowd/read_with_notes.h"

namespace bdc::test {
namespace {

/// A label file of one box on the picture, in each format with a file per image.
struct Format {
  const char* name;
  const char* extension;
  std::string (*text)(const std::string& picture);
};

const Format kFormats[] = {
    {"voc", ".xml",
     [](const std::string& picture) {
       return "<annotation><filename>" + picture +
              ".jpg</filename><size><width>90</width><height>80</height></size><object><name>car</name><bndbox>"
              "<xmin>10</xmin><ymin>10</ymin><xmax>50</xmax><ymax>50</ymax></bndbox></object></annotation>";
     }},
    {"labelme", ".json",
     [](const std::string& picture) {
       return R"({"imagePath": ")" + picture + R"(.jpg", "imageWidth": 90, "imageHeight": 80, "shapes":
                [{"label": "car", "shape_type": "rectangle", "points": [[10, 10], [50, 50]]}]})";
     }},
    {"yolo", ".txt", [](const std::string&) { return std::string("0 0.5 0.5 0.4 0.4\n"); }},
};

class FoldersOfAnnotators : public ::testing::TestWithParam<Format> {
 protected:
  void label(const std::string& folder, const Names& pictures) {
    for (const std::string& picture : pictures) {
      files_.emplace_back(folder + "/" + picture + GetParam().extension, GetParam().text(picture));
      folder_.write("set/" + files_.back().first, files_.back().second);
    }
  }
  [[nodiscard]] ReadOptions options(const Names& pictures = {"1", "2", "3"}) const {
    ReadOptions out;
    std::string sizes;
    for (const std::string& picture : pictures) sizes += picture + ".jpg,90,80\n";
    out.sizes_csv = folder_.write("all_sizes.csv", sizes);
    return out;
  }
  /// Of the folder, and of the same files in a zip file.
  [[nodiscard]] std::vector<Read> both(const ReadOptions& options) const {
    return {read({folder_ / "set"}, options), read({make_zip(folder_ / "set.zip", files_)}, options)};
  }

  TemporaryFolder folder_;
  std::vector<std::pair<std::string, std::string>> files_;
};

TEST_P(FoldersOfAnnotators, SiblingsThatLabelTheSamePicturesAreAnnotatorsBelowAFolderOfTheirOwn) {
  label("export/ann", {"1", "2", "3"});
  label("export/bob", {"1", "2"});
  for (const Read& found : both(options())) {
    EXPECT_EQ(annotators_of(found.data), (Names{"ann", "bob"}));
    EXPECT_EQ(found.data.images.size(), 3U);
    EXPECT_EQ(found.data.assignments.size(), 5U);
    EXPECT_EQ(found.data.images[0].id.text, "1") << "the folder above is no part of the name";
    EXPECT_TRUE(found.notes_have("\"ann\", \"bob\" label the same pictures, so they are annotators"))
        << found.all_notes();
  }
}

TEST_P(FoldersOfAnnotators, TheyMayStandInSeveralBatches) {
  label("batch1/ann", {"1", "2"});
  label("batch1/bob", {"1", "2"});
  label("batch2/ann", {"3"});
  label("batch2/bob", {"3"});
  for (const Read& found : both(options())) {
    EXPECT_EQ(annotators_of(found.data), (Names{"ann", "bob"}));
    EXPECT_EQ(found.data.images.size(), 3U);
    EXPECT_EQ(found.data.assignments.size(), 6U);
  }
}

TEST_P(FoldersOfAnnotators, FoldersOfImagesInAnnotatorsFoldersStayTheirs) {
  for (const char* who : {"ann", "bob"}) {
    label(std::string(who) + "/street", {"1", "2"});
    label(std::string(who) + "/park", {"1"});
  }
  for (const Read& found : both(options({"street/1", "street/2", "park/1"}))) {
    EXPECT_EQ(annotators_of(found.data), (Names{"ann", "bob"}));
    EXPECT_EQ(found.data.images.size(), 3U);
    EXPECT_TRUE(found.notes_have("\"ann\", \"bob\" are taken for annotators, and those in them (\"park\", \"street\")"))
        << found.all_notes();
  }
}

TEST_P(FoldersOfAnnotators, LabelsBesideThemAreRefused) {
  label("ann", {"1", "2"});
  label("bob", {"1", "2"});
  folder_.write("set/1" + std::string(GetParam().extension), GetParam().text("1"));
  const std::string error = error_of([&] { (void)read({folder_ / "set"}, options()); });
  EXPECT_NE(error.find("lies beside the folders \"ann\", \"bob\", which label the same pictures"), std::string::npos)
      << error;
  ReadOptions by_one = options();
  by_one.annotator = "eve";
  EXPECT_EQ(annotators_of(read({folder_ / "set"}, by_one).data), Names{"eve"});
}

TEST_P(FoldersOfAnnotators, WithoutAPictureInCommonTheUppermostFolderIsTheAnnotatorsUnlessAskedOtherwise) {
  label("ann/street", {"1", "2"});
  label("ann/park", {"3"});
  for (const Read& found : both(options())) {
    EXPECT_EQ(annotators_of(found.data), Names{"ann"});
    EXPECT_EQ(found.data.images.size(), 3U);
  }
  ReadOptions by_folder = options();
  by_folder.annotator_from = AnnotatorFrom::folder;
  for (const Read& found : both(by_folder)) EXPECT_EQ(annotators_of(found.data), (Names{"park", "street"}));
}

TEST_P(FoldersOfAnnotators, AFolderPerImageIsRefused) {
  if (std::string(GetParam().name) == "yolo") return;  // its files do not name their pictures
  for (const char* picture : {"1", "2"}) {
    for (const char* who : {"ann", "bob"}) {
      folder_.write(std::string("set/") + picture + "/" + who + GetParam().extension, GetParam().text(picture));
    }
  }
  const std::string error = error_of([&] { (void)read({folder_ / "set"}, options()); });
  EXPECT_NE(error.find("found the folder \"1\" called like the picture \"1.jpg\""), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(Formats, FoldersOfAnnotators, ::testing::ValuesIn(kFormats),
                         [](const auto& row) { return row.param.name; });

TEST(FoldersOfPictures, PicturesBesideTheLabelsTellFoldersOfImagesFromCopiesOfAnnotators) {
  const TemporaryFolder folder;
  const std::string one = data_text("yolo_images/img_j.jpg");
  for (const char* place : {"a", "b"}) {
    folder.write("same/export/" + std::string(place) + "/1.txt", "0 0.5 0.5 0.4 0.4\n");
    folder.write("same/export/" + std::string(place) + "/1.jpg", one);
    folder.write("different/export/" + std::string(place) + "/1.txt", "0 0.5 0.5 0.4 0.4\n");
    folder.write("different/export/" + std::string(place) + "/1.jpg", one + place);
  }
  EXPECT_EQ(annotators_of(read({folder / "same"}).data), (Names{"a", "b"}));
  const Read different = read({folder / "different"});
  EXPECT_EQ(annotators_of(different.data), Names{"export"});
  EXPECT_EQ(different.data.images.size(), 2U);
}

TEST(FoldersOfPictures, SuperviselyFoldersWithoutAProjectThatLabelTheSamePicturesAreRefused) {
  const TemporaryFolder folder;
  const std::string file = R"({"size": {"width": 9, "height": 9}, "objects": []})";
  for (const char* who : {"ann", "bob"}) folder.write("set/" + std::string(who) + "/ann/1.jpg.json", file);
  const std::string error = error_of([&] { (void)read({folder / "set"}); });
  EXPECT_NE(error.find("expected a meta.json in each annotator's project"), std::string::npos) << error;
  for (const char* who : {"ann", "bob"}) folder.write("set/" + std::string(who) + "/meta.json", R"({"classes": []})");
  EXPECT_EQ(annotators_of(read({folder / "set"}).data), (Names{"ann", "bob"}));
}

TEST(FoldersOfPictures, ImagesBesideTheAnnotatorsFoldersServeThemAll) {
  const TemporaryFolder folder;
  for (const char* set : {"plain", "named"}) {
    const std::string in = std::string(set) + "/", before = in == "named/" ? "labels_" : "";
    folder.write(in + before + "ann/1.txt", "0 0.5 0.5 0.4 0.4\n");
    folder.write(in + before + "bob/1.txt", "0 0.5 0.5 0.4 0.4\n");
    folder.write(in + "images/1.jpg", data_text("yolo_images/img_j.jpg"));
    const Read found = read({folder / set});
    ASSERT_EQ(found.data.images.size(), 1U) << set;
    EXPECT_EQ(found.data.images[0].width, 44) << set;
    EXPECT_EQ(found.data.annotations.size(), 2U) << set;
    EXPECT_EQ(annotators_of(found.data), (Names{before + "ann", before + "bob"}));
  }
}

}  // namespace
}  // namespace bdc::test
