// Labels that can be read and are doubtful: what a user sees of it, and that nothing is written.

#include <gtest/gtest.h>

#include <filesystem>

#include "support/run_program.h"

namespace {

using bdc::test::run_host;
using bdc::test::TemporaryFolder;

constexpr int wrong_data = 4;

/// COCO with one image and one box.
std::string coco(const std::string& bbox) {
  return R"({"images": [{"id": 1, "file_name": "a.png", "width": 200, "height": 100}], "categories": [{"id": 1, "name":
"cat"}], "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": )" +
         bbox + "}]}";
}

TEST(Doubts, SharesEndEveryVerbAndNothingIsWritten) {
  const TemporaryFolder folder;
  folder.write("ann.json", coco("[0.1, 0.2, 0.3, 0.4]"));
  folder.write("bob.json", coco("[0.1, 0.2, 0.3, 0.5]"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"convert", "ann.json", "out.json", "--to", "crowd"},
        std::vector<std::string>{"aggregate", "ann.json", "bob.json", "-o", "out.json"},
        std::vector<std::string>{"validate", "ann.json", "bob.json"}}) {
    const auto outcome = run_host(words, folder.path());
    EXPECT_EQ(outcome.exit_code, wrong_data) << words[0] << outcome.out << outcome.err;
    EXPECT_NE((outcome.out + outcome.err).find("may be shares of the image's size"), std::string::npos) << words[0];
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "out.json"));
  }
}

TEST(Doubts, AFolderOfWhichNothingIsReadIsAnError) {
  const TemporaryFolder folder;
  folder.write("set/ann/annotations/a.txt", "10,20,30,40,1,2,0,0\n");
  const auto outcome = run_host({"convert", "set", "out.json", "--to", "crowd", "--from", "text"}, folder.path());
  EXPECT_EQ(outcome.exit_code, wrong_data) << outcome.out << outcome.err;
  EXPECT_NE(outcome.err.find("expected images, found none"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out.json"));
}

}  // namespace
