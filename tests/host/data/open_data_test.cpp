// From config keys to data sets.

#include "data/open_data.h"

#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "bdc/base/user_error.h"
#include "bdc/crowd/crowd_io.h"
#include "cli/config/config.h"
#include "cli/config/schema.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

RunConfig config(const std::vector<std::string>& sets) {
  ConfigRequest request;
  request.sets = sets;
  return settings_of(resolve_config(request));
}

/// Ten images of shapes in a folder, their truth as COCO and a crowd's boxes as our own format.
struct Files {
  Files() {
    CrowdShapesSettings crowd;
    crowd.experts = 2;
    const CrowdShapesData data({10, 3, 64, 2, 1}, crowd);
    CrowdData labels = data.labels();
    for (std::size_t i = 0; i < 10; ++i) {
      labels.images[i].file = std::to_string(i) + ".png";
      std::vector<unsigned char> bytes;
      cv::imencode(".png", data.image(static_cast<std::int64_t>(i)), bytes);
      folder.write("images/" + labels.images[i].file, {bytes.begin(), bytes.end()});
    }
    (void)write_crowd(labels, path("crowd.json"), "crowd");
    CrowdData truth = labels;
    truth.annotators.clear();
    truth.annotations.clear();
    truth.assignments.clear();
    std::reverse(truth.classes.begin(), truth.classes.end());  // another numbering
    for (auto& t : truth.truth) t.label = 2 - t.label;
    truth.finalize();
    (void)write_crowd(truth, path("truth.json"), "coco");
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  test::TemporaryFolder folder;
};

TEST(OpenData, WithoutLabelsTheShapesAreUsed) {
  const auto data = open_data(config({"data.shapes.train_images=7", "data.shapes.test_images=3"}));
  EXPECT_TRUE(data.built_in);
  EXPECT_EQ(data.train->size(), 7);
  EXPECT_EQ(data.test->size(), 3);
  EXPECT_EQ(data.description, "7 built-in images of shapes");
  EXPECT_TRUE(data.train->labels().annotators.empty());
  EXPECT_TRUE(data.warnings.empty());
}

TEST(OpenData, TheShapesGetASimulatedCrowdForTrainingOnly) {
  const auto data = open_data(config({"data.shapes.train_images=7", "data.shapes.test_images=3",
                                      "data.shapes.crowd.experts=1", "data.shapes.crowd.random=2"}));
  EXPECT_EQ(data.train->labels().annotators.size(), 3u);
  EXPECT_TRUE(data.test->labels().annotators.empty());
  ASSERT_EQ(data.simulated.size(), 3u);
  EXPECT_EQ(data.simulated[2].name, "random-2");
}

TEST(OpenData, CrowdLabelsAndImagesWithAShareHeldOut) {
  const Files files;
  const auto data = open_data(
      config({"data.labels=" + files.path("crowd.json"), "data.images=" + files.path("images"), "data.val_share=0.3"}));
  EXPECT_FALSE(data.built_in);
  EXPECT_EQ(data.train->size(), 7);
  EXPECT_EQ(data.test->size(), 3);
  EXPECT_EQ(data.train->labels().annotators.size(), 2u);
  EXPECT_TRUE(data.test->labels().has_truth);
  EXPECT_EQ(data.train->image(0).cols, 64);
}

TEST(OpenData, LabelsWithoutAnnotatorsAreTheTruth) {
  const Files files;
  const auto data =
      open_data(config({"data.labels=" + files.path("truth.json"), "data.images=" + files.path("images")}));
  EXPECT_TRUE(data.train->labels().annotators.empty());
  EXPECT_FALSE(data.train->labels().truth.empty());
  EXPECT_EQ(data.test->size(), 0);
  EXPECT_TRUE(data.warnings.empty());
  EXPECT_FALSE(data.unmeasured.empty());
  const auto crowd = open_data(
      config({"data.labels=" + files.path("truth.json"), "data.role=crowd", "data.images=" + files.path("images")}));
  EXPECT_EQ(crowd.train->labels().annotators.size(), 1u);
}

TEST(OpenData, ValidationClassesAreNumberedAsInTraining) {
  const Files files;
  const auto data = open_data(config({"data.labels=" + files.path("crowd.json"), "data.images=" + files.path("images"),
                                      "data.val_labels=" + files.path("truth.json")}));
  ASSERT_EQ(data.test->size(), 10);
  const auto &train = data.train->labels(), &test = data.test->labels();
  ASSERT_EQ(train.truth.size(), test.truth.size());
  for (std::size_t n = 0; n < train.truth.size(); ++n) EXPECT_EQ(train.truth[n].label, test.truth[n].label);
  EXPECT_EQ(test.classes[0].name, train.classes[0].name);
}

TEST(OpenData, KeysThatDoNotFitTogetherAreConfigErrors) {
  const Files files;
  const std::string labels = "data.labels=" + files.path("crowd.json"), images = "data.images=" + files.path("images");
  const auto code = [](const std::vector<std::string>& sets) {
    try {
      (void)open_data(config(sets));
    } catch (const UserError& e) {
      return static_cast<int>(e.code());
    }
    return 0;
  };
  EXPECT_EQ(code({labels}), 3);
  EXPECT_EQ(code({images}), 3);
  EXPECT_EQ(code({"data.source=files"}), 3);
  EXPECT_EQ(code({labels, images, "data.val_images=" + files.path("images")}), 3);
  EXPECT_EQ(code({labels, images, "data.val_share=0.1", "data.val_labels=" + files.path("truth.json")}), 3);
  EXPECT_EQ(code({labels, images, "train.augment.mosaic=0.5"}), 0);
  EXPECT_EQ(code({labels, images}), 0);
  EXPECT_THROW((void)open_data(config({labels, "data.images=" + files.path("nowhere")})), DataError);
}

TEST(OpenData, AugmentationIsOffUnlessAskedFor) {
  const auto none = config({}).train.augment;
  EXPECT_FALSE(draw_augmentation(none, 1, 1, 1).warps());
  const auto some = config({"train.augment.flip_x=1", "train.augment.rotate=12"}).train.augment;
  EXPECT_EQ(some.flip_x, 1);
  EXPECT_EQ(some.rotate, 12);
  EXPECT_THROW((void)config({"train.augment.flip_x=2"}), UserError);
}

}  // namespace
}  // namespace bdc::host
