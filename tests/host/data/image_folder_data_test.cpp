// Labels with a folder of pictures: finding them, sizes, broken ones, memory, parts.

#include "data/image_folder_data.h"

#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>
#include <set>
#include <thread>

#include "data/cached_data.h"
#include "data/subset_data.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

std::string png(int width, int height, int grey) {
  std::vector<unsigned char> bytes;
  cv::imencode(".png", cv::Mat(height, width, CV_8UC3, cv::Scalar::all(grey)), bytes);
  return {bytes.begin(), bytes.end()};
}

/// Images named as given, 8 x 6, one class, two annotators; annotator 0 drew a box in each, 1 saw the first.
CrowdData labels_of(const std::vector<std::string>& files, int width = 8, int height = 6) {
  CrowdData out;
  out.classes.push_back({{"1", true}, "thing"});
  out.annotators.push_back({{"a", false}, ""});
  out.annotators.push_back({{"b", false}, ""});
  for (std::size_t i = 0; i < files.size(); ++i) {
    out.images.push_back({{std::to_string(i), true}, files[i], width, height});
    const auto image = static_cast<std::int32_t>(i);
    out.annotations.push_back({{1, 1, 2 + double(i), 5}, image, 0, 0});
    out.truth.push_back({{1, 1, 3 + double(i), 5}, image, 0, false, 4});
  }
  out.assignments.push_back({0, 1});
  out.finalize();
  return out;
}

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const DataError& e) {
    return e.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int grey_of(const Dataset& data, std::int64_t index) {
  return data.image(index).at<cv::Vec3b>(0, 0)[0];
}

TEST(ImageFolderData, FindsFilesByPathByNameAndByNameWithoutExtension) {
  const test::TemporaryFolder folder;
  folder.write("a.png", png(8, 6, 1));
  folder.write("deep/below/b.png", png(8, 6, 2));
  folder.write("deep/c.png", png(8, 6, 3));
  folder.write("deep/d.png", png(8, 6, 4));
  const ImageFolderData data(labels_of({"a.png", "b.png", "c", "/data/upload/7/d.png", "deep/./x/../c.png"}),
                             {folder.path(), true, {}});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(grey_of(data, i), i + 1);
  EXPECT_EQ(grey_of(data, 4), 3);
}

TEST(ImageFolderData, FindsFilesThatLabellingProgramsHaveRenamed) {
  const test::TemporaryFolder folder;
  folder.write("street/a b.png", png(8, 6, 10));
  folder.write("c.png", png(8, 6, 20));
  folder.write("12ab34cd-d.png", png(8, 6, 30));
  folder.write("d.png", png(8, 6, 40));
  const ImageFolderData data(labels_of({"/data/upload/3/1f2e3d4c-a%20b.png", "C:\\Users\\ann\\c.png",
                                        "/data/upload/3/12ab34cd-d.png", "/data/local-files/?d=street/a%20b.png"}),
                             {folder.path(), true, {}});
  ASSERT_EQ(data.size(), 4);
  for (const auto& [image, grey] : std::vector<std::pair<int, int>>{{0, 10}, {1, 20}, {2, 30}, {3, 10}}) {
    EXPECT_EQ(grey_of(data, image), grey) << image;
  }
}

TEST(ImageFolderData, APathThatLeavesTheFolderIsRefused) {
  const test::TemporaryFolder folder;
  folder.write("in/a.png", png(8, 6, 1));
  folder.write("secret.png", png(8, 6, 9));
  for (const char* path : {"../secret.png", "x/../../secret.png", ".."}) {
    EXPECT_TRUE(has(error_of([&] {
                      ImageFolderData({labels_of({"a.png", path})}, {folder.path() / "in", false, {}});
                    }),
                    "outside the image folder"))
        << path;
  }
  const std::string absolute = (folder.path() / "secret.png").string();  // looked up by name below the folder only
  const ImageFolderData data(labels_of({"a.png", absolute}), {folder.path() / "in", false, {}});
  EXPECT_EQ(data.size(), 1);
}

TEST(ImageFolderData, MissingImagesAreCountedNamedAndLeftOutWithTheirLabels) {
  const test::TemporaryFolder folder;
  folder.write("b.png", png(8, 6, 1));
  folder.write("c.png", "not an image at all");
  const auto labels = labels_of({"a.png", "b.png", "c.png", "d.png"});
  const ImageFolderData data(labels, {folder.path(), false, {}});
  ASSERT_EQ(data.size(), 1);
  EXPECT_EQ(data.labels().images[0].file, "b.png");
  ASSERT_EQ(data.labels().annotations.size(), 1u);
  EXPECT_EQ(data.labels().annotations[0].box.x2, 3);
  EXPECT_EQ(data.labels().annotations[0].image, 0);
  EXPECT_EQ(data.labels().assignments.size(), 1u);
  EXPECT_EQ(data.labels().truth.size(), 1u);
  EXPECT_EQ(data.labels().annotators.size(), 2u);
  ASSERT_EQ(data.warnings().size(), 2u);
  EXPECT_TRUE(has(data.warnings()[0], "2 images of the labels not found")) << data.warnings()[0];
  EXPECT_TRUE(has(data.warnings()[0], "a.png; d.png"));
  EXPECT_TRUE(has(data.warnings()[1], "c.png"));
  const auto strict = error_of([&] { ImageFolderData(labels, {folder.path(), true, {}}); });
  EXPECT_TRUE(has(strict, "a.png; d.png") && has(strict, "strict")) << strict;
  EXPECT_TRUE(has(error_of([&] { ImageFolderData(labels_of({"x"}), {folder.path(), false, {}}); }), "no images left"));
  EXPECT_TRUE(has(error_of([&] {
                    ImageFolderData(labels, {folder.path() / "no", false, {}});
                  }),
                  "no such image folder"));
}

TEST(ImageFolderData, ANameOfSeveralFilesIsLeftOutWithTheirPaths) {
  const test::TemporaryFolder folder;
  for (const char* file : {"c/x.png", "b/x.png", "a/x.png", "ok.png"}) folder.write(file, png(8, 6, 1));
  const auto labels = labels_of({"x.png", "ok.png", "gone.png", "c/x.png"});
  const ImageFolderData data(labels, {folder.path(), false, {}});
  EXPECT_EQ(data.size(), 2);
  ASSERT_EQ(data.warnings().size(), 2u);
  EXPECT_TRUE(has(data.warnings()[0], "1 image of the labels not found, left out: gone.png")) << data.warnings()[0];
  EXPECT_TRUE(has(data.warnings()[1],
                  "1 image of the labels left out, as several files have that name: x.png (a/x.png, b/x.png)"))
      << data.warnings()[1];
  EXPECT_TRUE(has(error_of([&] { ImageFolderData(labels, {folder.path(), true, {}}); }), "a/x.png"));
}

TEST(ImageFolderData, LabelsCalledLikePicturesAreNoPictures) {
  const test::TemporaryFolder folder;
  for (const char* file : {"ann/x.xml", "bob/x.xml", "bob/x.json", "x.txt"}) folder.write(file, "labels");
  folder.write("images/x.png", png(8, 6, 1));
  const ImageFolderData data(labels_of({"x"}), {folder.path(), false, {}});
  EXPECT_EQ(data.size(), 1);
  EXPECT_TRUE(data.warnings().empty());
}

TEST(ImageFolderData, LinksThatLeadToThemselvesAreNoFiles) {
  const test::TemporaryFolder folder;
  folder.write("deep/b.png", png(8, 6, 2));
  std::filesystem::create_symlink("l.png", folder.path() / "l.png");
  const ImageFolderData data(labels_of({"b.png", "l.png"}), {folder.path(), false, {}});
  EXPECT_EQ(data.size(), 1);
  ASSERT_EQ(data.warnings().size(), 1u);
  EXPECT_TRUE(has(data.warnings()[0], "1 image of the labels not found, left out: l.png")) << data.warnings()[0];
}

TEST(ImageFolderData, ASizeThatDiffersFromTheLabelsIsAnErrorThatNamesBoth) {
  const test::TemporaryFolder folder;
  folder.write("a.png", png(6, 8, 1));
  const auto message = error_of([&] { ImageFolderData(labels_of({"a.png"}), {folder.path(), false, {}}); });
  EXPECT_TRUE(has(message, "a.png is 6x8 in the file and 8x6 in the labels")) << message;
  const ImageFolderData unknown(labels_of({"a.png"}, 0, 0), {folder.path(), false, {}});
  EXPECT_EQ(unknown.labels().images[0].width, 6);
  EXPECT_EQ(unknown.labels().images[0].height, 8);
}

TEST(ImageFolderData, ABrokenImageIsNamedOnceAndStrictStops) {
  const test::TemporaryFolder folder;
  folder.write("a.png", png(8, 6, 1).substr(0, 50));  // the header is whole
  folder.write("b.png", png(8, 6, 2));
  const ImageFolderData data(labels_of({"a.png", "b.png"}), {folder.path(), false, {}});
  EXPECT_EQ(data.size(), 2);
  EXPECT_TRUE(data.broken_images().empty());
  for (int i = 0; i < 3; ++i) EXPECT_THROW((void)data.image(0), BrokenImage);
  EXPECT_EQ(grey_of(data, 1), 2);
  ASSERT_EQ(data.broken_images().size(), 1u);
  EXPECT_TRUE(has(data.broken_images()[0], "a.png"));
  const ImageFolderData strict(labels_of({"a.png", "b.png"}), {folder.path(), true, {}});
  try {
    (void)strict.image(0);
    FAIL();
  } catch (const BrokenImage&) {
    FAIL() << "strict must stop the run";
  } catch (const DataError& e) {
    EXPECT_TRUE(has(e.what(), "a.png"));
  }
}

/// Counts how often each image is asked for.
class CountingData : public Dataset {
 public:
  explicit CountingData(std::size_t images) : counts(images) {
    for (std::size_t i = 0; i < images; ++i) labels_.images.push_back({{std::to_string(i), true}, "", 4, 4});
    labels_.finalize();
  }
  [[nodiscard]] const CrowdData& labels() const override { return labels_; }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override {
    ++counts[static_cast<std::size_t>(index)];
    return cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(double(index)));
  }
  mutable std::vector<std::atomic<int>> counts;

 private:
  CrowdData labels_;
};

TEST(CachedData, KeepsImagesUpToItsLimitAndGivesTheSamePixels) {
  const auto inner = std::make_shared<CountingData>(10);
  const CachedData data(inner, 48 * 4 + 47);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(grey_of(data, i), i);
  }
  EXPECT_EQ(data.bytes_used(), 48 * 4);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(inner->counts[static_cast<std::size_t>(i)], i < 4 ? 1 : 3);
}

TEST(CachedData, TakesManyThreads) {
  const auto inner = std::make_shared<CountingData>(50);
  const CachedData data(inner, 48 * 20);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) wrong += grey_of(data, n % 50) != n % 50;
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(data.bytes_used(), 48 * 20);
}

TEST(SplitImages, PartsAreDisjointCompleteAndDependOnTheSeedAlone) {
  const auto [train, test] = split_images(100, 0.2, 3);
  EXPECT_EQ(test.size(), 20u);
  std::set<std::int64_t> all(train.begin(), train.end());
  all.insert(test.begin(), test.end());
  EXPECT_EQ(all.size(), 100u);
  EXPECT_EQ(split_images(100, 0.2, 3).second, test);
  EXPECT_NE(split_images(100, 0.2, 4).second, test);
  EXPECT_TRUE(split_images(100, 0, 3).second.empty());
  EXPECT_EQ(split_images(3, 0.01, 3).second.size(), 1u);
  EXPECT_EQ(split_images(2, 0.9, 3).first.size(), 1u);
}

TEST(SubsetData, HasTheImagesAndLabelsOfItsPart) {
  const test::TemporaryFolder folder;
  for (int i = 0; i < 4; ++i) folder.write(std::to_string(i) + ".png", png(8, 6, i));
  const auto all = std::make_shared<ImageFolderData>(labels_of({"0.png", "1.png", "2.png", "3.png"}),
                                                     ImageFolderSettings{folder.path(), true, {}});
  const SubsetData part(all, {3, 0});
  ASSERT_EQ(part.size(), 2);
  EXPECT_EQ(grey_of(part, 0), 3);
  EXPECT_EQ(grey_of(part, 1), 0);
  ASSERT_EQ(part.labels().annotations.size(), 2u);
  EXPECT_EQ(part.labels().annotations[0].box.x2, 5);
  EXPECT_EQ(part.labels().annotations[1].box.x2, 2);
  EXPECT_EQ(part.labels().assignments.size(), 3u);  // image 0 was seen by both
  EXPECT_EQ(part.labels().images[0].id.text, "3");
}

}  // namespace
}  // namespace bdc::host
