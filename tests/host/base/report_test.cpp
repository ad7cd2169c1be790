// What a report is made of.
#include <gtest/gtest.h>

#include <cmath>

#include "bdc/core/method.h"
#include "report/html.h"
#include "report/page.h"
#include "report/sections.h"
#include "report/svg_chart.h"
#include "shapes/crowd_shapes.h"

namespace bdc::host {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

ReportData shapes_report() {
  CrowdShapesSettings crowd;
  crowd.experts = crowd.average = crowd.random = 4;
  ReportData data;
  const auto shapes = std::make_shared<CrowdShapesData>(ShapesSettings{40, 3, 64, 3, 1}, crowd);
  data.crowd = shapes->labels();
  data.pictures = shapes;
  data.title = "a title";
  AggregationInput input;
  input.crowd = &data.crowd;
  AggregationResult bdc = make_method("bdc")->aggregate(input), mv = make_method("mv")->aggregate(input);
  data.posteriors = bdc.posteriors;
  data.bound = bdc.bound;
  data.methods = {{"bdc", bdc.targets}, {"mv", mv.targets}};
  return data;
}

TEST(Html, HostileTextIsHarmless) {
  EXPECT_EQ(escape_html("<script>&\"'"), "&lt;script&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escape_html("\xff"
                        "a\x01\xc0\x80"),
            "\xEF\xBF\xBD"
            "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(escape_html("Ä日𝄞"), "Ä日𝄞");
  EXPECT_EQ(escape_html("\xed\xa0\x80").find("\xed"), std::string::npos);  // a surrogate
  EXPECT_EQ(json_for_script(Json{{"a", "</script><!--"}}).find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(json_for_script(Json{{"a", "</script>"}}))["a"], "</script>");
}

TEST(Html, CsvFieldsAreQuotedAndNeverFormulas) {
  EXPECT_EQ(csv_text("plain"), "plain");
  EXPECT_EQ(csv_text("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(csv_text("=cmd()"), "'=cmd()");
}

TEST(Html, Base64IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(SvgChart, EveryFinitePointIsDrawnAndNothingElse) {
  SvgChart chart{"a & b", "x", "y", {{"line", {1, 2, 3, 4}, {1, std::nan(""), 3, 1}}}, {}};
  const std::string svg = svg_lines(chart);
  EXPECT_EQ(count(svg, "<circle"), 3u);
  EXPECT_NE(svg.find("a &amp; b"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  chart.lines[0].y = {std::nan(""), std::nan(""), std::nan(""), std::nan("")};
  EXPECT_NE(svg_lines(chart).find("no values"), std::string::npos);
}

TEST(Report, HasEveryPartAndARowForEveryAnnotator) {
  const ReportData data = shapes_report();
  const std::string page = render_report(data, {});
  for (const char* id : {"curves", "methods", "annotators", "groups", "gallery", "relabel"}) {
    EXPECT_NE(page.find("<section id=\"" + std::string(id)), std::string::npos) << id;
  }
  EXPECT_EQ(count(page, "<tr data-k="), 12u);
  EXPECT_EQ(count(page, "<figure>"), 24u);
  EXPECT_EQ(count(page, "data:image/jpeg;base64,"), 24u);  // one picture, however many panels show it
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

TEST(Report, TheSameInputGivesTheSameBytesForAnyNumberOfThreads) {
  const ReportData data = shapes_report();
  ReportSettings one, three;
  one.threads = 1;
  three.threads = 3;
  EXPECT_EQ(render_report(data, one), render_report(data, three));
}

TEST(Report, WithoutPicturesBoxesStandOnPaperOfTheImagesSize) {
  ReportData data = shapes_report();
  data.pictures = nullptr;
  const std::string page = render_report(data, {});
  EXPECT_EQ(page.find("data:image/"), std::string::npos);
  EXPECT_NE(page.find("viewBox=\"0 0 64 64\""), std::string::npos);
}

TEST(Report, EmptyPartsAreLeftOut) {
  ReportData data;
  data.title = "curves alone";
  data.metrics = {{{"epoch", 1}, {"train/loss", 2.0}, {"test/AP", 0.1}}, {{"epoch", 2}, {"train/loss", 1.0}}};
  const std::string page = render_report(data, {});
  EXPECT_NE(page.find("<section id=\"curves"), std::string::npos);
  EXPECT_EQ(count(page, "<section"), 1u);
}

TEST(Report, NamesFromFilesAreEscapedEverywhere) {
  ReportData data = shapes_report();
  const std::string evil = "<script>alert(1)</script>\"'><img src=x>";
  data.title = data.source = evil;
  data.notes = {evil};
  for (auto& m : data.methods) m.name = evil;
  for (auto& c : data.crowd.classes) c.name = evil;
  for (auto& i : data.crowd.images) i.file = evil;
  for (auto& a : data.crowd.annotators) a.name = evil;
  for (auto& c : data.posteriors->classes) c.name = evil;
  for (auto& a : data.posteriors->annotators) a.name = evil;
  const std::string page = render_report(data, {});
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(count(page, "<script"), 2u);  // the numbers and the page's own
}

TEST(Report, RelabelCsvHasEveryTargetLargestGainFirst) {
  const ReportData data = shapes_report();
  const std::string csv = relabel_csv(data, 1000000);
  EXPECT_EQ(count(csv, "\n"), data.methods[0].targets.box.size() + 1);
  EXPECT_EQ(count(relabel_csv(data, 5), "\n"), 6u);
  double last = 1;
  std::size_t line = csv.find('\n') + 1;
  while (line < csv.size()) {
    const std::size_t comma = csv.find(',', line);
    const double gain = std::stod(csv.substr(comma + 1));
    EXPECT_LE(gain, last + 1e-5);
    last = gain;
    line = csv.find('\n', line) + 1;
  }
}

TEST(Report, ConfusionLettersAreProbabilitiesOnALogScale) {
  const ReportData data = shapes_report();
  const AnnotatorClusters clusters = cluster_annotators(*data.posteriors);
  const Json numbers = script_data(data, clusters);
  ASSERT_EQ(numbers["annotators"].size(), 12u);
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t k = 0; k < 12; ++k) {
    for (const auto& [row, text] : numbers["annotators"][k]["c"].items()) {
      double sum = 0;
      for (const char c : text.get<std::string>()) sum += std::pow(10, 3 * (double(letters.find(c)) / 63 - 1));
      EXPECT_NEAR(sum, 1, 0.12) << k << " " << row;
    }
  }
}

}  // namespace
}  // namespace bdc::host
