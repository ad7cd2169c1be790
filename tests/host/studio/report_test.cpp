// What a report is made of.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "bdc/learn/annotator_figures.h"
#include "bdc/learn/learners.h"
#include "data/crowd_shapes.h"
#include "library/dataset_pictures.h"
#include "studio/report/html.h"
#include "studio/report/load_report.h"
#include "studio/report/page.h"
#include "studio/report/sections.h"
#include "studio/report/svg_chart.h"

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
  data.pictures = pictures_of(data.crowd, shapes);
  data.title = "a title";
  FitInput input;
  input.crowd = &data.crowd;
  FitResult bdc = make_learner("bdc")->fit(input), mv = make_learner("mv")->fit(input);
  data.posteriors = bdc.posteriors;
  data.bound = bdc.bound;
  data.methods = {{"bdc", bdc.targets}, {"mv", mv.targets}};
  return data;
}

bool says(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

/// The shapes report of another profile of bdc, alone.
ReportData profile_report(const std::string& profile) {
  ReportData data = shapes_report();
  FitInput input;
  input.crowd = &data.crowd;
  FitResult result = make_learner("bdc", {{"profile", profile}})->fit(input);
  data.posteriors = result.posteriors;
  data.methods = {{profile, result.targets}};
  return data;
}

/// The column `name` of the table of what is worth another look.
std::vector<std::string> relabel_column(const ReportData& data, const std::string& name) {
  std::istringstream lines(relabel_csv(data, 1000000));
  std::string line, cell;
  std::getline(lines, line);
  std::istringstream head(line);
  std::size_t column = 0;
  while (std::getline(head, cell, ',') && cell != name) ++column;
  std::vector<std::string> out;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    for (std::size_t c = 0; c <= column; ++c) std::getline(cells, cell, ',');
    out.push_back(cell);
  }
  return out;
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
  for (const char* id : {"curves", "methods", "annotators", "groups", "gallery", "settle", "relabel"}) {
    EXPECT_NE(page.find("<section id=\"" + std::string(id)), std::string::npos) << id;
  }
  EXPECT_EQ(count(page, "<tr data-k="), 12u);
  EXPECT_EQ(count(page, "<figure>"), 24u);
  EXPECT_EQ(page.find("<section id=\"plan"), std::string::npos) << "everybody has seen every image";
  EXPECT_EQ(count(page, "href=\"data:image/jpeg;base64,"), 24u);  // one picture, however many panels show it
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
  EXPECT_EQ(count(page, "<script"), 4u);  // the numbers and the program of the page, and of its decisions
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

TEST(Relabel, TheFirstMethodThatKnowsExistenceRanks) {
  ReportData data = shapes_report();
  const std::string before = relabel_csv(data, 1000);
  std::swap(data.methods[0], data.methods[1]);
  EXPECT_TRUE(data.methods[0].targets.existence.empty());
  EXPECT_EQ(relabel_csv(data, 1000), before);
  EXPECT_TRUE(says(relabel_section(data, {}), "By the consensus of <bdi>bdc</bdi>"));
}

TEST(Relabel, SaysWhetherTheNextAnnotatorWasLearntOrAssumed) {
  ReportData data = shapes_report();
  EXPECT_TRUE(says(relabel_section(data, {}), "the median annotator of this crowd (recall 0."));
  data.posteriors.reset();
  EXPECT_TRUE(says(relabel_section(data, {}), "an annotator with recall 0.85"));
  EXPECT_TRUE(says(relabel_section(data, {}), "as nothing was learnt about this crowd"));
  EXPECT_TRUE(
      says(relabel_section(profile_report("paper"), {}), "assumed, as nothing was learnt about it: recall 0.85)"));
}

TEST(Report, ALearnerThatKnowsNothingOfBoxesShowsNoBoxErrors) {
  ReportData data = shapes_report();
  FitInput input;
  input.crowd = &data.crowd;
  const auto shows = [&](const std::string& text) {
    const AnnotatorClusters clusters = cluster_annotators(*data.posteriors);
    return says(annotators_section(data, clusters) + clusters_section(data, clusters), text);
  };
  EXPECT_TRUE(shows("box σ</th>") && shows("bias left</th>") && shows("<h3>Box errors</h3>"));
  data.posteriors = make_learner("crowd_rcnn")->fit(input).posteriors;
  EXPECT_TRUE(shows("accuracy</th>"));
  EXPECT_FALSE(shows("box σ</th>") || shows("bias ") || shows("<h3>Box errors</h3>") || shows("draws well"));
  EXPECT_TRUE(script_data(data, cluster_annotators(*data.posteriors))["errors"].empty());
}

TEST(Relabel, WithoutExistenceTheShareOfLookersStandsForIt) {
  const ReportData data = profile_report("paper");
  ASSERT_TRUE(data.methods[0].targets.existence.empty());
  EXPECT_TRUE(says(relabel_section(data, {}), "a plain vote"));
  const auto existence = relabel_column(data, "existence"), drawn = relabel_column(data, "drawn_by"),
             seen = relabel_column(data, "seen_by");
  for (std::size_t r = 0; r < existence.size(); ++r) {
    EXPECT_NEAR(std::stod(existence[r]), std::stod(drawn[r]) / std::stod(seen[r]), 1e-4);
  }
  EXPECT_LT(std::stod(existence[0]), 0.9) << "what all drew is not what needs another look";
}

TEST(Relabel, WhatIsCertainIsNotRanked) {
  ReportData data = shapes_report();
  data.methods.erase(data.methods.begin());
  data.methods[0].targets.make_class_vectors();
  data.methods[0].targets.existence.assign(data.methods[0].targets.box.size(), 1.0);
  for (double& p : data.methods[0].targets.class_probs) p = p > 0.5 ? 1 : 0;
  for (std::size_t n = 0; n < data.methods[0].targets.box.size(); ++n) {
    data.methods[0].targets.class_probs[n * 3] = 1;
    data.methods[0].targets.class_probs[n * 3 + 1] = data.methods[0].targets.class_probs[n * 3 + 2] = 0;
  }
  const std::string section = relabel_section(data, {});
  EXPECT_TRUE(says(section, "cannot be ranked")) << section.substr(0, 900);
  EXPECT_FALSE(says(section, "<table"));
}

TEST(Relabel, SaysThatTheTableStopsAndGivesSpreadsheetsTheirMark) {
  const ReportData data = shapes_report();
  ReportSettings settings;
  settings.relabel_rows = 7;
  const std::string section = relabel_section(data, settings);
  EXPECT_TRUE(says(section, "The table holds the first 7 of " + std::to_string(data.methods[0].targets.box.size())));
  EXPECT_TRUE(says(section, ";base64," + base64("\xEF\xBB\xBFrank,expected_g").substr(0, 20)));
  EXPECT_EQ(relabel_csv(data, 1).rfind("rank,", 0), 0u) << "the file for programs has no mark";
  settings.relabel_rows = 100000;
  EXPECT_FALSE(says(relabel_section(data, settings), "The table holds"));
}

TEST(Relabel, ABoxThatLeavesTheImageIsStillDrawn) {
  ReportData data = shapes_report();
  const auto before = relabel_column(data, "drawn_by");
  const double width = data.crowd.images[0].width;
  for (Annotation& a : data.crowd.annotations) {
    if (a.box.x2 > width - 1) a.box.x2 = width + 500;
  }
  EXPECT_EQ(relabel_column(data, "drawn_by"), before);
  const auto existence = relabel_column(data, "existence");
  for (std::size_t r = 0; r < existence.size(); ++r) {
    EXPECT_TRUE(std::stod(existence[r]) <= 0.9 || before[r] != "0") << r;
  }
}

TEST(Annotators, TrueFiguresSayHowTheyAreMeasuredAndOnHowManyObjects) {
  const ReportData data = shapes_report();
  const std::string section = annotators_section(data, cluster_annotators(*data.posteriors));
  EXPECT_TRUE(says(section, ">true objects</th>"));
  EXPECT_TRUE(says(section, "if their IoU is at least 0.3"));
  EXPECT_EQ(count(section, " over 12 annotators"), 1u) << "everybody was shown 20 objects: one correlation, not two";
}

TEST(Annotators, FewerPeopleWhoWereShownMoreObjectsHaveTheirOwnCorrelation) {
  ReportData data = shapes_report();
  const auto image_of = [&](std::size_t object) {  // the image that this true object is in
    std::int32_t i = 0;
    while (data.crowd.truth_begin[static_cast<std::size_t>(i) + 1] <= object) ++i;
    return i;
  };
  const std::int32_t after_30 = image_of(30), after_10 = image_of(10);
  const auto sees = [&](const auto& a) {  // annotators 5 to 8 about 30 objects, 9 to 11 about 10, the others all
    return a.annotator < 5 || a.image < (a.annotator < 9 ? after_30 : after_10);
  };
  for (auto& a : data.crowd.assignments) a.annotator = sees(a) ? a.annotator : 0;
  for (auto& a : data.crowd.annotations) a.annotator = sees(a) ? a.annotator : 0;
  data.crowd.finalize();
  const std::string section = annotators_section(data, cluster_annotators(*data.posteriors));
  EXPECT_TRUE(says(section, " over 9 annotators who were shown at least 20 objects"));
  EXPECT_TRUE(says(section, " over 5 annotators who were shown at least 50 objects"));
}

TEST(Annotators, TheProfilePaperHasRatiosAndNoBestWhereAllAreEqual) {
  ReportData data = profile_report("paper");
  data.posteriors->classes.resize(1);
  data.posteriors->confusion = {};
  data.posteriors->confusion.num_classes = 1;
  data.posteriors->confusion.begin.assign(data.posteriors->annotators.size() + 1, 0);
  const AnnotatorClusters clusters = cluster_annotators(*data.posteriors);
  const std::string section = annotators_section(data, clusters);
  EXPECT_TRUE(says(section, ">width ratio (1 = none)</th>"));
  EXPECT_FALSE(says(section, "best first"));
  const std::string groups = clusters_section(data, clusters);
  EXPECT_TRUE(says(groups, "k-means on box noise as learnt. "));
  EXPECT_FALSE(says(groups, "recall"));
}

TEST(Annotators, WhoHasDrawnHardlyAnythingIsGrey) {
  ReportData data = shapes_report();
  EXPECT_FALSE(says(annotators_section(data, cluster_annotators(*data.posteriors)), "Grey"));
  data.posteriors->annotators[3].annotations = 2;
  data.learnt_by = "bdc, run for this report";
  const std::string section = annotators_section(data, cluster_annotators(*data.posteriors));
  EXPECT_TRUE(says(section, "Grey: hardly any evidence"));
  EXPECT_EQ(count(section, "\" class=\"note\"><td>"), 1u);
  EXPECT_TRUE(says(section, "by <bdi>bdc, run for this report</bdi>"));
}

TEST(Annotators, ThoseOfWhomNothingIsKnownAreNotCountedAndStandLast) {
  ReportData data = shapes_report();
  for (const std::size_t k : {2U, 5U}) {
    AnnotatorEvidence& evidence = data.posteriors->annotators[k];
    evidence.images = evidence.judged = evidence.annotations = evidence.found = evidence.missed = 0;
  }
  const std::string section = annotators_section(data, cluster_annotators(*data.posteriors));
  EXPECT_TRUE(says(section, "<p>10 annotators, best first"));
  EXPECT_TRUE(says(section, "The labels do not tell how good 2 more are"));
  const auto row = [&](std::size_t k) { return section.find("<tr data-k=\"" + std::to_string(k) + "\""); };
  for (const std::size_t known : {0U, 1U, 3U, 4U, 6U, 7U, 8U, 9U, 10U, 11U}) {
    EXPECT_LT(row(known), row(2)) << known;
    EXPECT_LT(row(known), row(5)) << known;
  }
  EXPECT_TRUE(says(section.substr(row(2)), "not known"));
  EXPECT_FALSE(says(section.substr(0, row(2)), "not known"));
}

TEST(Annotators, EveryFigureHasItsInterval) {
  const ReportData data = shapes_report();
  const std::string section = annotators_section(data, cluster_annotators(*data.posteriors));
  const Figure recall = recall_figure(*data.posteriors, 0);
  EXPECT_TRUE(says(section, in_column(recall.mean, 2) + "<small>" + in_column(recall.low, 2) + " – " +
                                in_column(recall.high, 2) + "</small>"));
}

TEST(Dependence, ShowsCommunitiesAndHowMuchTheirMembersHaveInCommon) {
  ReportData data = shapes_report();
  EXPECT_EQ(dependence_section(data), "") << "nobody errs alike";
  data.posteriors->alike = {{1, 4, 0.5}, {4, 7, 0.25}, {2, 3, 0.75}};
  data.posteriors->annotators[4].name = "<b>Eve</b>";
  const std::string section = dependence_section(data);
  EXPECT_TRUE(says(section, "<li>3 together: "));
  EXPECT_TRUE(says(section, "<li>2 together: "));
  EXPECT_LT(section.find("<li>3 together"), section.find("<li>2 together"));
  EXPECT_EQ(count(section, "style=\"--share:0.5\">50</td>"), 2u) << "both ways";
  EXPECT_EQ(count(section, "style=\"--share:"), 6u);
  EXPECT_FALSE(says(section, "<b>Eve"));
}

TEST(Groups, ANumberThatWasAskedForIsNotCalledFound) {
  const ReportData data = shapes_report();
  const auto section = [&](std::size_t k) { return clusters_section(data, cluster_annotators(*data.posteriors, k)); };
  EXPECT_TRUE(says(section(1), "One group was asked for."));
  EXPECT_FALSE(says(section(1), "stands out"));
  EXPECT_TRUE(says(section(26), "26 groups were asked for"));
  EXPECT_TRUE(says(section(3), "The division into 3, as asked for,"));
}

TEST(Methods, TheTableScrollsAndItsHeadingsAreOnes) {
  const std::string section = methods_section(shapes_report());
  EXPECT_TRUE(says(section, "<div class=\"scroll\"><table"));
  EXPECT_EQ(count(section, "<th"), 1 + count(section, "<th scope=\"col\""));  // thead
  EXPECT_FALSE(says(section, "nothing but this report"));
  EXPECT_EQ(count(section, "<td class=\"n\">–</td>"), 1u) << "mv knows no number of expected objects";
}

TEST(Loading, TellsTheRoundsOfAnAggregationAndTheSections) {
  const auto file = std::filesystem::temp_directory_path() / ("bdc_report_" + std::to_string(::getpid()) + ".json");
  (void)write_crowd(shapes_report().crowd, file.string());
  std::vector<std::string> told;
  ReportRequest request;
  request.inputs = {file.string()};
  request.methods = {"bdc"};
  request.progress = [&](const std::string& text) { told.push_back(text); };
  const ReportData data = load_report(request);
  std::filesystem::remove(file);
  (void)render_report(data, {});
  const auto heard = [&](const std::string& part) {
    return std::any_of(told.begin(), told.end(), [&](const std::string& t) { return says(t, part); });
  };
  EXPECT_TRUE(heard("aggregating: bdc  round 2 "));
  EXPECT_TRUE(heard("drawing annotators"));
  EXPECT_TRUE(heard("worth another look"));
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
