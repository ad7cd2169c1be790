// Judging a detector without truth, through the front door.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bdc/base/random.h"
#include "support/run_program.h"

namespace {

using bdc::test::run_host;
using bdc::test::TemporaryFolder;
using nlohmann::json;

/// 120 images with one to three objects of four classes, six simulated annotators, and a detector that finds four of
/// five.
struct Judged : testing::Test {
  Judged() {
    bdc::Random random(7);
    json truth = {{"images", json::array()}, {"categories", json::array()}, {"annotations", json::array()}};
    for (int j = 1; j <= 4; ++j) truth["categories"].push_back({{"id", j}, {"name", "class" + std::to_string(j)}});
    json found = json::array();
    int id = 1;
    for (int i = 1; i <= 120; ++i) {
      truth["images"].push_back(
          {{"id", i}, {"file_name", std::to_string(i) + ".png"}, {"width", 400}, {"height", 300}});
      for (int n = 0; n <= i % 3; ++n) {
        const double w = random.uniform(40, 100), h = random.uniform(40, 90), x = random.uniform(0, 400 - w),
                     y = random.uniform(0, 300 - h);
        const int category = 1 + static_cast<int>(random.below(4));
        truth["annotations"].push_back({{"id", id++},
                                        {"image_id", i},
                                        {"category_id", category},
                                        {"bbox", {x, y, w, h}},
                                        {"area", w * h},
                                        {"iscrowd", 0}});
        if (random.uniform() < 0.2) continue;
        const auto off = [&](double size) { return 0.05 * size * random.normal(); };
        const bool right = random.uniform() < 0.9;
        found.push_back({{"image_id", i},
                         {"category_id", right ? category : 1 + category % 4},
                         {"bbox", {x + off(w), y + off(h), w * (1 + off(1)), h * (1 + off(1))}},
                         {"score", right ? random.uniform(0.4, 1) : random.uniform(0.2, 0.7)}});
      }
      if (i % 4 == 0) {
        found.push_back({{"image_id", i},
                         {"category_id", 1},
                         {"bbox", {random.uniform(0, 300), random.uniform(0, 200), 60, 60}},
                         {"score", random.uniform(0.05, 0.5)}});
      }
    }
    folder.write("truth.json", truth.dump());
    folder.write("found.json", found.dump());
    folder.write("spec.json",
                 R"({"groups": [{"skill": "average", "annotators": 6, "coverage": 0.7}], "cover_all": true})");
    const auto made = host({"synth", "truth.json", "--config", "spec.json", "-o", "crowd.json", "-q"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }
  bdc::test::Outcome host(const std::vector<std::string>& words) const { return run_host(words, folder.path()); }
  TemporaryFolder folder;
};

TEST_F(Judged, TheIntervalHoldsTheApAgainstTruth) {
  const auto real = host({"eval", "found.json", "truth.json", "--json"});
  ASSERT_EQ(real.exit_code, 0) << real.err;
  const auto outcome = host({"eval", "found.json", "--crowd", "crowd.json", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json truth = json::parse(real.out), found = json::parse(outcome.out);
  for (const char* name : {"AP", "AP50"}) {
    EXPECT_LE(found[name]["low"].get<double>(), truth[name].get<double>()) << name << outcome.out;
    EXPECT_GE(found[name]["high"].get<double>(), truth[name].get<double>()) << name << outcome.out;
  }
  EXPECT_LT(found["AP"]["high"].get<double>() - found["AP"]["low"].get<double>(), 0.25);
  EXPECT_NEAR(found["expected_objects"].get<double>(), 240, 20);
  const json& ceilings = found["ceilings"];
  EXPECT_LT(ceilings["one_annotator"], ceilings["best_annotator"]);
  EXPECT_LT(ceilings["best_annotator"], ceilings["consensus"]);
  const auto again = host({"eval", "found.json", "--crowd", "crowd.json", "--json", "--threads", "1"});
  EXPECT_EQ(again.out, outcome.out) << "the same bits for any number of threads";
}

TEST_F(Judged, SaysHowFarTheAnnotatorsAgree) {
  const auto outcome = host({"eval", "--crowd", "crowd.json", "--per-class", "--per-annotator"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("expected without truth"), std::string::npos);
  for (const char* text : {"Krippendorff's alpha", "class4", "average-6", "IoU above"}) {
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << outcome.out;
  }
  const auto machine = host({"eval", "--crowd", "crowd.json", "--json", "--per-class"});
  const json rows = json::parse(machine.out)["agreement"];
  ASSERT_EQ(rows.size(), 5u);
  for (std::size_t n = 1; n < rows.size(); ++n) {
    EXPECT_LT(rows[n]["all"]["alpha"], rows[n - 1]["all"]["alpha"]) << "a higher overlap is harder to agree on";
    EXPECT_LE(rows[n]["all"]["low"], rows[n]["all"]["alpha"]);
    EXPECT_GE(rows[n]["all"]["high"], rows[n]["all"]["alpha"]);
  }
  EXPECT_EQ(rows[0]["classes"].size(), 4u);
}

TEST_F(Judged, RefusesWhatDoesNotGoTogether) {
  const auto refuses = [&](const std::vector<std::string>& words, int code, const std::string& text) {
    const auto outcome = host(words);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  };
  refuses({"eval"}, 2, "expected predictions and the truth");
  refuses({"eval", "found.json"}, 2, "expected predictions and the truth");
  refuses({"eval", "found.json", "truth.json", "--crowd", "crowd.json"}, 2, "leave out truth.json");
  refuses({"eval", "found.json", "--crowd", "crowd.json", "--iou", "0.5"}, 2, "go with the truth");
  refuses({"eval", "found.json", "truth.json", "--per-annotator"}, 2, "goes with --crowd");
  refuses({"eval", "found.json", "--crowd", "missing.json"}, 4, "missing.json");
  const auto alone = host({"eval", "found.json", "--crowd", "truth.json"});  // read as the labels of one person
  EXPECT_NE(alone.err.find("most images were seen by one annotator only"), std::string::npos) << alone.err;
  folder.write("other.json", R"([{"image_id": 999, "category_id": 1, "bbox": [1, 1, 5, 5], "score": 0.5}])");
  refuses({"eval", "other.json", "--crowd", "crowd.json"}, 4, "999");
}

}  // namespace
