#include "data/subset_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bdc/base/random.h"

namespace bdc::host {
namespace {

/// Appends the rows of image `from`, which becomes image `to`.
template <class Row>
void copy_rows(const std::vector<Row>& rows, const std::vector<std::size_t>& begin, std::size_t from, std::size_t to,
               std::vector<Row>& out) {
  for (std::size_t n = begin[from]; n < begin[from + 1]; ++n) {
    out.push_back(rows[n]);
    out.back().image = static_cast<std::int32_t>(to);
  }
}

}  // namespace

CrowdData select_images(const CrowdData& labels, const std::vector<std::int64_t>& images) {
  CrowdData out;
  out.classes = labels.classes;
  out.annotators = labels.annotators;
  out.assignments_known = labels.assignments_known;
  out.has_truth = labels.has_truth;
  for (std::size_t to = 0; to < images.size(); ++to) {
    const auto from = static_cast<std::size_t>(images[to]);
    out.images.push_back(labels.images.at(from));
    if (labels.has_truth) out.truth_covers.push_back(labels.truth_covers[from]);
    copy_rows(labels.annotations, labels.annotation_begin, from, to, out.annotations);
    copy_rows(labels.assignments, labels.assignment_begin, from, to, out.assignments);
    copy_rows(labels.truth, labels.truth_begin, from, to, out.truth);
  }
  out.finalize();
  return out;
}

SubsetData::SubsetData(std::shared_ptr<const Dataset> inner, std::vector<std::int64_t> images)
    : inner_(std::move(inner)), images_(std::move(images)), labels_(select_images(inner_->labels(), images_)) {}

cv::Mat SubsetData::image(std::int64_t index) const {
  return inner_->image(images_.at(static_cast<std::size_t>(index)));
}

std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> split_images(std::int64_t count, double share,
                                                                             std::uint64_t seed) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(count)), second;
  std::iota(first.begin(), first.end(), std::int64_t{0});
  if (!(share > 0) || count < 2) return {first, second};
  const auto wanted = std::clamp<std::int64_t>(std::llround(share * static_cast<double>(count)), 1, count - 1);
  Random random(seed, 4, 0);
  for (std::int64_t n = 0; n < wanted; ++n) {  // a part of a shuffle: the drawn ones gather at the end
    const auto left = first.size() - static_cast<std::size_t>(n);
    std::swap(first[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(left)))], first[left - 1]);
  }
  second.assign(first.end() - wanted, first.end());
  first.resize(first.size() - second.size());
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  return {first, second};
}

}  // namespace bdc::host
