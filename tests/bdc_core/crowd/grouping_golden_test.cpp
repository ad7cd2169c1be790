#include "bdc/crowd/grouping.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bdc/crowd/geometry.h"
#include "support/golden_file.h"

namespace {

using nlohmann::json;

json to_json(const bdc::Groups& groups) {
  json out = json::array();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    out.push_back(std::vector<int>(groups[g].begin(), groups[g].end()));
  }
  return out;
}

TEST(GroupingGolden, BothRulesGiveTheGroupsOfTheOriginalsInOrder) {
  const json golden = golden_crowd("grouping_reference.json");
  std::size_t compared = 0;
  for (const json& image : golden["images"]) {
    const bdc::ImageScale scale{image["width"], image["height"]};
    std::vector<bdc::Box> pixels, normalised;
    std::vector<std::int32_t> annotators;
    for (const json& a : image["annotations"]) {
      pixels.push_back({a[0], a[1], a[2], a[3]});
      normalised.push_back(bdc::normalised(pixels.back(), scale));
      annotators.push_back(a[5]);
    }
    bdc::Groups groups;
    for (const auto& [threshold, expected] : image["groups"].items()) {
      bdc::group_by_best_overlap(normalised, annotators, std::stod(threshold), groups);
      EXPECT_EQ(to_json(groups), expected) << "image " << image["id"] << " threshold " << threshold;
      ++compared;
    }
    for (const auto& [threshold, expected] : image["mv_groups"].items()) {
      bdc::group_by_first_overlap(pixels, annotators, std::stod(threshold), groups);
      EXPECT_EQ(to_json(groups), expected) << "image " << image["id"] << " threshold " << threshold;
      ++compared;
    }
  }
  EXPECT_EQ(compared, golden["images"].size() * golden["thresholds"].size() * 2);
}

}  // namespace
