// The report's picture of how far the consensus's probabilities can be believed.
#include <gtest/gtest.h>

#include "support/run_program.h"

namespace {

using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

const char* const kCategories = R"("categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}])";

std::string images(int count) {
  std::string out = R"("images": [)";
  for (int i = 1; i <= count; ++i) {
    out += (i > 1 ? ", " : "") + (R"({"id": )" + std::to_string(i)) + R"(, "file_name": ")" + std::to_string(i) +
           R"(.png", "width": 300, "height": 200})";
  }
  return out + "]";
}

struct Reliability : testing::Test {
  /// 40 images with one object; three people draw it, and each an invention in every tenth image.
  void SetUp() override {
    std::string truth, drawn;
    int id = 1;
    for (int i = 1; i <= 40; ++i) {
      const std::string image = R"("image_id": )" + std::to_string(i);
      truth += (i > 1 ? ", " : "") + (R"({"id": )" + std::to_string(i)) + ", " + image +
               R"(, "category_id": 1, "bbox": [50, 50, 60, 60], "area": 3600, "iscrowd": 0})";
      for (const char* who : {"ann", "bob", "cid"}) {
        const std::string by = R"(, "annotator_id": ")" + std::string(who) + "\"}";
        drawn += (id > 1 ? ", " : "") + (R"({"id": )" + std::to_string(id)) + ", " + image +
                 R"(, "category_id": 1, "bbox": [50, 50, 60, 60])" + by;
        ++id;
        if (i % 10 != 0) continue;
        drawn += R"(, {"id": )" + std::to_string(id) + ", " + image + R"(, "category_id": 2, "bbox": [200, )" +
                 std::to_string(10 * (who[0] - 'a')) + ", 60, 60]" + by;
        ++id;
      }
    }
    folder.write("crowd.json",
                 "{" + images(40) + ", " + kCategories +
                     R"(, "annotators": [{"id": "ann"}, {"id": "bob"}, {"id": "cid"}], "annotations": [)" + drawn +
                     "]}");
    folder.write("truth.json", "{" + images(40) + ", " + kCategories + R"(, "annotations": [)" + truth + "]}");
  }
  TemporaryFolder folder;
};

TEST_F(Reliability, StandsInTheReportWhereThereIsTruthAndAMethodThatSaysProbabilities) {
  const auto outcome =
      run_host({"report", "crowd.json", "--truth", "truth.json", "-o", "page.html", "-q"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string page = read_file(folder.path() / "page.html");
  const auto at = page.find("<section id=\"reliability\">");
  ASSERT_NE(at, std::string::npos);
  const std::string section = page.substr(at, page.find("</section>", at) - at);
  EXPECT_NE(section.find("<svg"), std::string::npos);
  for (const char* text : {"an object is there", "and the box in place", "its class", "off by, %"}) {
    EXPECT_NE(section.find(text), std::string::npos) << text;
  }
  EXPECT_NE(page.find("href=\"#reliability\""), std::string::npos);
}

TEST_F(Reliability, IsLeftOutWithoutTruth) {
  const auto outcome = run_host({"report", "crowd.json", "-o", "page.html", "-q"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_file(folder.path() / "page.html").find("id=\"reliability\""), std::string::npos);
}

}  // namespace
