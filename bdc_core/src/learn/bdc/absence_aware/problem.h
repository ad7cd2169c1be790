#pragma once

#include <cstdint>
#include <vector>

#include "learn/bdc/absence_aware/image_state.h"

namespace bdc::absence_aware {

/// A crowd as flat lists of items, by image and by source.
struct Problem {
  std::vector<Item> items;                     ///< sorted by image
  std::vector<std::size_t> item_begin;         ///< images + 1
  std::vector<std::int32_t> seen_by;           ///< sources, sorted by image
  std::vector<double> look_weight;             ///< per entry of seen_by; empty: all 1
  std::vector<std::size_t> seen_begin;         ///< images + 1
  std::vector<std::array<double, 2>> size;     ///< width and height of each image, always positive
  std::vector<char> size_known;                ///< 0: the image's size was not given
  std::vector<std::uint32_t> column_item;      ///< annotations by confusion column, ascending
  std::vector<std::size_t> column_item_begin;  ///< columns + 1
  std::vector<std::uint32_t> prediction;       ///< items that are predictions
  std::size_t skipped = 0;                     ///< boxes that were not valid
  // Of all images, also where this holds a part of them.
  std::vector<double> column_boxes;  ///< annotations by confusion column
  double all_predictions = 0;

  [[nodiscard]] std::size_t images() const { return size.size(); }
  std::vector<char> lone;  ///< per image, see ImageItems
  [[nodiscard]] ImageItems image(std::size_t i) const;
};

/// Of `count` images of the crowd from `first` on, which are counted from 0 in it. Throws DataError when predictions do
/// not fit the crowd. `beliefs` gives the sources and the confusion columns.
[[nodiscard]] Problem make_problem(const CrowdData& crowd, const Predictions* predictions,
                                   const AbsenceAwareBeliefs& beliefs, std::size_t first, std::size_t count);

/// Appends the items of one image; returns how many boxes were skipped because they were not valid.
std::size_t append_items(const ImageLabels& labels, const AbsenceAwareBeliefs& beliefs, std::vector<Item>& items);

/// Sets what every look counts from who errs alike.
void weigh_looks(const AbsenceAwareBeliefs& beliefs, Problem& problem);

/// Gives every item its source's weight; weights: per entry of seen_by, or empty.
template <class Items>
void set_item_weights(Span<const std::int32_t> seen_by, Span<const double> weights, Items& items) {
  for (std::size_t a = 0; a < weights.size(); ++a) {
    for (Item& item : items) {
      if (item.source == seen_by[a]) item.weight = weights[a];
    }
  }
}

/// The image's width and height, or when unknown the extent of its boxes.
[[nodiscard]] std::array<double, 2> image_extent(double width, double height, Span<const Item> items);

}  // namespace bdc::absence_aware
