// The report's picture of how far the consensus's probabilities can be believed.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

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
  for (const char* text : {"an object is there", "and the box in place", "its class", "off by, %", "90 % interval"}) {
    EXPECT_NE(section.find(text), std::string::npos) << text;
  }
  EXPECT_NE(page.find("href=\"#reliability\""), std::string::npos);
}

TEST_F(Reliability, OfAConsensusIsSaidWithIntervals) {
  const std::vector<std::string> words{"aggregate", "crowd.json", "--truth", "truth.json"};
  const auto text = run_host(words, folder.path());
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("calibration error, 90 % interval in brackets: classes "), std::string::npos) << text.out;
  std::vector<std::string> as_json = words;
  as_json.insert(as_json.end(), {"--json", "--quiet"});
  const auto outcome = run_host(as_json, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto summary = nlohmann::json::parse(outcome.out);
  for (const std::string what : {"class", "existence", "located"}) {
    const double error = summary.at(what + "_calibration_error");
    const auto& interval = summary.at(what + "_calibration_error_interval");
    ASSERT_EQ(interval.size(), 2U);
    EXPECT_LE(0, interval[0].get<double>()) << what;
    EXPECT_LE(interval[0].get<double>(), interval[1].get<double>()) << what;
    EXPECT_LT(std::abs(0.5 * (interval[0].get<double>() + interval[1].get<double>()) - error), 0.1) << what;
  }
  // One image of ten holds an invention of all three: with other images of the kind it would be more or fewer.
  const auto& existence = summary.at("existence_calibration_error_interval");
  EXPECT_GT(existence[1].get<double>() - existence[0].get<double>(), 0.02);
}

TEST_F(Reliability, IsLeftOutWithoutTruth) {
  const auto outcome = run_host({"report", "crowd.json", "-o", "page.html", "-q"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_file(folder.path() / "page.html").find("id=\"reliability\""), std::string::npos);
}

}  // namespace
