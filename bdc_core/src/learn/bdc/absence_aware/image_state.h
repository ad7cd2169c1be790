#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bdc/learn/bdc/absence_aware.h"

namespace bdc::absence_aware {

/// Shares of a prediction's class vector below this are left out.
inline constexpr double kSmallestShare = 1e-6;

/// A box of any source.
struct Item {
  std::array<double, 4> edge{};  ///< x1, y1, x2, y2
  std::int32_t source = 0;
  std::int32_t label = 0;               ///< given class; -1 for a prediction
  std::uint32_t column = 0;             ///< column of (source, label) in the confusion columns; predictions: unused
  std::int32_t level = -1;              ///< score level of a prediction; -1 for an annotation
  double weight = 1;                    ///< what its source's look at this image counts
  double log_area = 0;                  ///< ln of width x height
  const double* class_probs = nullptr;  ///< a prediction's J probabilities
};

/// A set of items that may be one object, and what is believed of the object if it exists.
struct Candidate {
  std::vector<std::int32_t> members;  ///< indices of the image's items, at most one per source
  std::array<double, 2> size{};       ///< nominal width and height: medians of the members'
  std::array<double, 2> scale{};      ///< noise scale of the x and of the y edges, pixels
  double log_scales = 0;              ///< ln of the product of the two
  double voices = 1;                  ///< share of the members' agreement in place that counts, see candidate.cpp
  std::array<double, 4> mean{}, variance{};  ///< Gaussian posterior of the edges, pixels
  double bound = 0;                          ///< the candidate's part of the lower bound
  double real = 0;                           ///< ln of the weight of "is an object" in the bound: A in docs/method.md
  double spurious = 0;                       ///< ln of the weight of "every member is spurious": B in docs/method.md
  double existence = 0;
  std::vector<float> class_probs;  ///< of the classes of its ClassSet, in order; tiny entries are exactly 0
};

/// Classes, ascending.
class ClassSet {
 public:
  explicit ClassSet(std::size_t all) : size_(all) {}
  explicit ClassSet(Span<const std::int32_t> some) : size_(some.size()), some_(some.data()) {}
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool is_all() const { return some_ == nullptr; }
  [[nodiscard]] std::size_t operator[](std::size_t n) const {
    return some_ == nullptr ? n : static_cast<std::size_t>(some_[n]);
  }

 private:
  std::size_t size_;
  const std::int32_t* some_ = nullptr;
};

/// Items by their numbers in the image, in as little memory as they need: these lists are the largest part of a fit's.
class NeighbourList {
 public:
  NeighbourList() = default;
  /// Room for `size` of the image's items.
  NeighbourList(std::size_t items, std::size_t size) {
    if (items <= kNarrow) {
      narrow_.resize(size);
    } else {
      wide_.resize(size);
    }
  }
  void set(std::size_t n, std::int32_t item) {
    if (wide_.empty()) {
      narrow_[n] = static_cast<std::uint16_t>(item);
    } else {
      wide_[n] = item;
    }
  }
  [[nodiscard]] std::int32_t operator[](std::size_t n) const { return wide_.empty() ? narrow_[n] : wide_[n]; }

 private:
  static constexpr std::size_t kNarrow = 65536;
  std::vector<std::uint16_t> narrow_;
  std::vector<std::int32_t> wide_;
};

/// What is known of one image between two passes.
struct ImageState {
  std::vector<Candidate> candidates;
  std::vector<std::int32_t> candidate_of;     ///< per item
  std::vector<std::int32_t> neighbour_begin;  ///< items that overlap item n: neighbour[neighbour_begin[n] .. [n+1])
  NeighbourList neighbour;
  /// The classes an item may be of (class_sets.h), by item; empty: all.
  std::vector<std::int32_t> class_set, class_set_begin, class_set_class;
  [[nodiscard]] ClassSet classes_of_item(std::size_t n, std::size_t classes) const {
    if (class_set.empty()) return ClassSet(classes);
    const auto set = static_cast<std::size_t>(class_set[n]);
    const auto first = static_cast<std::size_t>(class_set_begin[set]);
    return ClassSet(Span<const std::int32_t>(class_set_class.data() + first,
                                             static_cast<std::size_t>(class_set_begin[set + 1]) - first));
  }
  /// Those of a candidate: its members have the same.
  [[nodiscard]] ClassSet classes_of(const Candidate& c, std::size_t classes) const {
    return classes_of_item(static_cast<std::size_t>(c.members.front()), classes);
  }
  /// Nobody drew anything that is an object: the image says nothing of object rates and annotators, see image_pass.h.
  bool blank = false;
  double occupied = 1;    ///< what the existence of every candidate is multiplied by in the targets
  double pivot = 0;       ///< whole number of objects at which the bound of their number is tight: object_rate.h
  double undetected = 0;  ///< expected objects that nobody drew
  double bound = 0;       ///< the image's part of the lower bound, as of the last pass
  int quiet = 0;          ///< passes since a move was accepted
  bool asleep = false;    ///< not looked at yet: a large crowd is fitted to a part of its images first
};

/// An image as the model sees it. The spans are owned by the caller.
struct ImageItems {
  double width = 1, height = 1;
  Span<const Item> items;
  Span<const std::int32_t> seen_by;  ///< sources
  bool lone = false;  ///< one source that draws saw it in a crowd that is not corroborated: existence has fixed odds
  Span<const double> look_weight;  ///< per entry of seen_by; empty: all 1
  std::optional<Box> view{};       ///< what the detector was shown; nothing: all of it
  [[nodiscard]] double weight_of_look(std::size_t n) const { return look_weight.size() == 0 ? 1.0 : look_weight[n]; }
};

/// Whether a source ever drew a box, here or in earlier evidence. One that never did can confirm nothing.
[[nodiscard]] inline bool draws(const AbsenceAwareBeliefs& beliefs, std::int32_t source) {
  return beliefs.source[static_cast<std::size_t>(source)].draws;
}

[[nodiscard]] inline bool is_lone(const AbsenceAwareBeliefs& beliefs, Span<const std::int32_t> seen_by) {
  if (beliefs.corroborated) return false;
  std::size_t sources = 0;
  for (const std::int32_t k : seen_by) sources += draws(beliefs, k) ? 1 : 0;
  return sources <= 1;
}

/// Expected objects among the image's candidates.
[[nodiscard]] double drawn_objects(const ImageState& state);

/// Whether a candidate's labels say something of classes and of who mixes them up: where they can be compared, and in a
/// lone image, where there is nothing else.
[[nodiscard]] inline bool tells_of_classes(const Candidate& c, const ImageItems& image) {
  return c.members.size() > 1 || image.lone;
}

/// Whether the detector could not have found a candidate: it was not shown the place. Less than a tenth of the box in
/// its view is nothing to go by, as for the targets it is trained on.
[[nodiscard]] bool out_of_view(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const Candidate& c);

/// Whether a box of the image is an annotator's.
[[nodiscard]] bool annotator_drew(const ImageItems& image);

/// Whether somebody looked who ever draws.
[[nodiscard]] bool somebody_draws(const AbsenceAwareBeliefs& beliefs, const ImageItems& image);

}  // namespace bdc::absence_aware
