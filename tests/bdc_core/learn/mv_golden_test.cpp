#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "bdc/crowd/grouping.h"
#include "bdc/learn/simple/majority_vote.h"
#include "support/golden_file.h"

namespace {

using nlohmann::json;

const std::vector<std::pair<const char*, bdc::BoxRule>> kRules{{"union", bdc::BoxRule::kUnion},
                                                               {"intersect", bdc::BoxRule::kIntersect},
                                                               {"average", bdc::BoxRule::kAverage},
                                                               {"majority", bdc::BoxRule::kMajority}};

struct Rows {
  std::vector<bdc::Box> boxes;
  std::vector<std::int32_t> labels, annotators;
  explicit Rows(const json& annotations) {
    for (const json& a : annotations) {
      boxes.push_back({a[0], a[1], a[2], a[3]});
      labels.push_back(a[4]);
      annotators.push_back(a[5]);
    }
  }
};

json row(const bdc::VoteResult& r) {
  return {r.box.x1, r.box.y1, r.box.x2, r.box.y2, static_cast<double>(r.label)};
}

/// [1, 2.0] and [1.0, 2] are the same row.
json as_doubles(const json& values) {
  return values.get<std::vector<double>>();
}

TEST(MajorityVoteGolden, ImagesReduceToTheRowsOfTheOriginal) {
  const json golden = golden_crowd("mv_reference.json");
  ASSERT_TRUE(golden["images_raising"].empty());
  for (const json& image : golden["images"]) {
    const Rows rows(image["annotations"]);
    bdc::Groups groups;
    bdc::group_by_first_overlap(rows.boxes, rows.annotators, golden["box_iou_thres"], groups);
    ASSERT_EQ(groups.size(), image["groups"].size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      EXPECT_EQ(std::vector<int>(groups[g].begin(), groups[g].end()), image["groups"][g].get<std::vector<int>>());
    }
    std::size_t drew = std::set<std::int32_t>(rows.annotators.begin(), rows.annotators.end()).size();
    if (drew == 0) drew = golden["K"];
    EXPECT_EQ(drew, image["n_annotators"].get<std::size_t>());
    for (const auto& [name, rule] : kRules) {
      json actual = json::array();
      for (std::size_t g = 0; g < groups.size(); ++g) {
        std::vector<bdc::Box> boxes;
        std::vector<std::int32_t> labels;
        for (const std::int32_t a : groups[g]) {
          boxes.push_back(rows.boxes[static_cast<std::size_t>(a)]);
          labels.push_back(rows.labels[static_cast<std::size_t>(a)]);
        }
        const bdc::VoteResult result = bdc::reduce_group(boxes, labels, drew, rule);
        if (result.outcome == bdc::VoteOutcome::kDropped) continue;
        ASSERT_EQ(result.outcome, bdc::VoteOutcome::kBox);
        actual.push_back(row(result));
      }
      ASSERT_EQ(actual.size(), image[name].size()) << "image " << image["id"] << " " << name;
      for (std::size_t r = 0; r < actual.size(); ++r) {
        EXPECT_EQ(actual[r], as_doubles(image[name][r])) << "image " << image["id"] << " " << name << " row " << r;
      }
    }
  }
}

TEST(MajorityVoteGolden, ReduceCasesGiveTheRowNothingOrTheFailure) {
  const json golden = golden_crowd("mv_reference.json");
  for (std::size_t c = 0; c < golden["reduce_cases"].size(); ++c) {
    const json& reduce_case = golden["reduce_cases"][c];
    const Rows rows(reduce_case["group"]);
    for (const auto& [name, rule] : kRules) {
      const bdc::VoteResult result = bdc::reduce_group(rows.boxes, rows.labels, reduce_case["n_annotators"], rule);
      const json& expected = reduce_case[name];
      switch (result.outcome) {
        case bdc::VoteOutcome::kBox:
          ASSERT_TRUE(expected.is_array()) << "case " << c << " " << name << " " << expected;
          EXPECT_EQ(row(result), as_doubles(expected)) << "case " << c << " " << name;
          break;
        case bdc::VoteOutcome::kDropped:
          EXPECT_TRUE(expected.is_null()) << "case " << c << " " << name << " " << expected;
          break;
        case bdc::VoteOutcome::kNoMajority:
          EXPECT_EQ(expected, "ValueError") << "case " << c << " " << name;
          break;
        case bdc::VoteOutcome::kEmptyBox:
          EXPECT_EQ(expected, "AssertionError") << "case " << c << " " << name;
          break;
      }
    }
  }
}

}  // namespace
