#include "bdc/learn/simple/majority_vote.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace {

constexpr int kSide = 24;
using Raster = std::array<std::array<int, kSide + 2>, kSide + 2>;  // a border of one empty pixel

/// The rule written pixel by pixel. Returns false when no pixel has a majority.
bool majority_by_pixels(const std::vector<bdc::Box>& boxes, int annotators, bdc::Box& out) {
  Raster count{}, component{};
  for (const bdc::Box& b : boxes) {
    for (int x = static_cast<int>(b.x1); x < static_cast<int>(b.x2); ++x) {
      for (int y = static_cast<int>(b.y1); y < static_cast<int>(b.y2); ++y) {
        ++count[static_cast<std::size_t>(x) + 1][static_cast<std::size_t>(y) + 1];
      }
    }
  }
  const auto at = [](Raster& r, int x, int y) -> int& {
    return r[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)];
  };
  int components = 0;
  double best = -1;
  for (int x0 = 1; x0 <= kSide; ++x0) {
    for (int y0 = 1; y0 <= kSide; ++y0) {
      if (at(count, x0, y0) <= annotators / 2 || at(component, x0, y0) != 0) continue;
      const int id = ++components;
      int x1 = x0, x2 = x0, y1 = y0, y2 = y0;
      std::vector<std::pair<int, int>> stack{{x0, y0}};
      at(component, x0, y0) = id;
      while (!stack.empty()) {
        const auto [x, y] = stack.back();
        stack.pop_back();
        x1 = std::min(x1, x), x2 = std::max(x2, x), y1 = std::min(y1, y), y2 = std::max(y2, y);
        for (int nx = x - 1; nx <= x + 1; ++nx) {
          for (int ny = y - 1; ny <= y + 1; ++ny) {
            if (at(count, nx, ny) <= annotators / 2 || at(component, nx, ny) != 0) continue;
            at(component, nx, ny) = id;
            stack.push_back({nx, ny});
          }
        }
      }
      Raster outside{};  // reached from the corner in four directions without entering the component
      stack = {{0, 0}};
      at(outside, 0, 0) = 1;
      while (!stack.empty()) {
        const auto [x, y] = stack.back();
        stack.pop_back();
        for (const auto& [dx, dy] : {std::pair{1, 0}, std::pair{-1, 0}, std::pair{0, 1}, std::pair{0, -1}}) {
          const int nx = x + dx, ny = y + dy;
          if (nx < 0 || ny < 0 || nx > kSide + 1 || ny > kSide + 1) continue;
          if (at(outside, nx, ny) != 0 || at(component, nx, ny) == id) continue;
          at(outside, nx, ny) = 1;
          stack.push_back({nx, ny});
        }
      }
      double area = 0;
      for (int x = 0; x <= kSide; ++x) {
        for (int y = 0; y <= kSide; ++y) {
          const int set =
              4 - at(outside, x, y) - at(outside, x + 1, y) - at(outside, x, y + 1) - at(outside, x + 1, y + 1);
          area += set == 4 ? 1.0 : (set == 3 ? 0.5 : 0.0);
        }
      }
      if (area < best) continue;
      best = area;
      out = {x1 - 1.0, y1 - 1.0, static_cast<double>(x2), static_cast<double>(y2)};
    }
  }
  return components > 0;
}

TEST(MajorityVote, TheSweepFindsWhatCountingPixelsFinds) {
  int with_majority = 0;
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    std::mt19937 rng(seed);
    const int n = 2 + static_cast<int>(rng() % 7);
    std::vector<bdc::Box> boxes;
    std::vector<std::int32_t> labels(static_cast<std::size_t>(n), 0);
    for (int b = 0; b < n; ++b) {
      const int x = static_cast<int>(rng() % (kSide - 1)), y = static_cast<int>(rng() % (kSide - 1));
      const int w = 1 + static_cast<int>(rng() % static_cast<unsigned>(kSide - x));
      const int h = 1 + static_cast<int>(rng() % static_cast<unsigned>(kSide - y));
      boxes.push_back(
          {static_cast<double>(x), static_cast<double>(y), static_cast<double>(x + w), static_cast<double>(y + h)});
    }
    const int annotators = seed % 3 == 0 ? n : std::max(1, n / 2);
    bdc::Box expected;
    const bool found = majority_by_pixels(boxes, annotators, expected);
    const bdc::VoteResult actual =
        bdc::reduce_group(boxes, labels, static_cast<std::size_t>(annotators), bdc::BoxRule::kMajority);
    if (!found) {
      EXPECT_EQ(actual.outcome, bdc::VoteOutcome::kNoMajority) << seed;
      continue;
    }
    ++with_majority;
    ASSERT_EQ(actual.outcome, bdc::VoteOutcome::kBox) << seed;
    EXPECT_EQ(actual.box, expected) << seed;
  }
  EXPECT_GT(with_majority, 1000);
}

TEST(MajorityVote, ATieWithThoseWhoDrewNothingDropsTheGroup) {
  const std::vector<bdc::Box> boxes{{0, 0, 5, 5}, {0, 0, 5, 5}};
  EXPECT_EQ(bdc::reduce_group(boxes, std::vector<std::int32_t>{3, 3}, 4, bdc::BoxRule::kUnion).outcome,
            bdc::VoteOutcome::kDropped);
  EXPECT_EQ(bdc::reduce_group(boxes, std::vector<std::int32_t>{3, 3}, 3, bdc::BoxRule::kUnion).label, 3);
  EXPECT_EQ(bdc::reduce_group(boxes, std::vector<std::int32_t>{7, 3}, 2, bdc::BoxRule::kUnion).label, 3);
}

}  // namespace
