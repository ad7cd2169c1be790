#include "learn/bdc/absence_aware/problem.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "bdc/base/error.h"
#include "learn/bdc/absence_aware/look_weights.h"

namespace bdc {

ImageLabels labels_of_image(const CrowdData& crowd, std::size_t image) {
  const std::size_t first = crowd.annotation_begin[image], seen = crowd.assignment_begin[image];
  ImageLabels labels;
  labels.width = crowd.images[image].width;
  labels.height = crowd.images[image].height;
  labels.annotations = {crowd.annotations.data() + first, crowd.annotation_begin[image + 1] - first};
  labels.seen_by = {crowd.assignments.data() + seen, crowd.assignment_begin[image + 1] - seen};
  return labels;
}

namespace absence_aware {
namespace {

std::int32_t score_level(double score) {
  const double level = score * static_cast<double>(kScoreLevels);
  if (!(level > 0)) return 0;
  return static_cast<std::int32_t>(std::min(level, static_cast<double>(kScoreLevels) - 1));
}

/// Lists the annotations of every confusion column, and the predictions.
void group_by_column(std::size_t columns, Problem& p) {
  p.column_item_begin.assign(columns + 1, 0);
  std::size_t annotations = 0;
  for (const Item& item : p.items) {
    if (item.class_probs != nullptr) continue;
    ++p.column_item_begin[item.column + 1];
    ++annotations;
  }
  for (std::size_t c = 0; c < columns; ++c) p.column_item_begin[c + 1] += p.column_item_begin[c];
  p.column_item.resize(annotations);
  std::vector<std::size_t> next(p.column_item_begin.begin(), p.column_item_begin.end() - 1);
  for (std::size_t n = 0; n < p.items.size(); ++n) {
    if (p.items[n].class_probs == nullptr) {
      p.column_item[next[p.items[n].column]++] = static_cast<std::uint32_t>(n);
    } else {
      p.prediction.push_back(static_cast<std::uint32_t>(n));
    }
  }
}

}  // namespace

std::size_t append_items(const ImageLabels& labels, const AbsenceAwareBeliefs& beliefs, std::vector<Item>& items) {
  std::size_t skipped = 0;
  for (const Annotation& a : labels.annotations) {
    const std::size_t column = beliefs.log_confusion.find(static_cast<std::size_t>(a.annotator), a.label);
    if (!a.box.valid() || column == ConfusionColumns::npos) {
      ++skipped;
      continue;
    }
    Item item;
    item.edge = {a.box.x1, a.box.y1, a.box.x2, a.box.y2};
    item.log_area = std::log(a.box.width() * a.box.height());
    item.source = a.annotator;
    item.label = a.label;
    item.column = static_cast<std::uint32_t>(column);
    items.push_back(item);
  }
  if (!beliefs.has_detector) return skipped;
  for (std::size_t n = 0; n < labels.prediction_box.size(); ++n) {
    const Box& box = labels.prediction_box[n];
    if (!box.valid()) {
      ++skipped;
      continue;
    }
    Item item;
    item.edge = {box.x1, box.y1, box.x2, box.y2};
    item.log_area = std::log(box.width() * box.height());
    item.source = static_cast<std::int32_t>(beliefs.annotators);
    item.label = -1;
    item.level = score_level(labels.prediction_score[n]);
    item.class_probs = labels.prediction_class_probs.data() + n * beliefs.classes;
    items.push_back(item);
  }
  return skipped;
}

std::array<double, 2> image_extent(double width, double height, Span<const Item> items) {
  if (width > 0 && height > 0) return {width, height};
  std::array<double, 2> low{0, 0}, high{1, 1};
  for (const Item& item : items) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      low[axis] = std::min(low[axis], item.edge[axis]);
      high[axis] = std::max(high[axis], item.edge[axis + 2]);
    }
  }
  return {width > 0 ? width : high[0] - low[0], height > 0 ? height : high[1] - low[1]};
}

ImageItems Problem::image(std::size_t i) const {
  return {size[i][0],
          size[i][1],
          Span<const Item>(items.data() + item_begin[i], item_begin[i + 1] - item_begin[i]),
          Span<const std::int32_t>(seen_by.data() + seen_begin[i], seen_begin[i + 1] - seen_begin[i]),
          lone[i] != 0,
          look_weight.empty()
              ? Span<const double>()
              : Span<const double>(look_weight.data() + seen_begin[i], seen_begin[i + 1] - seen_begin[i])};
}

Problem make_problem(const CrowdData& crowd, const Predictions* predictions, const AbsenceAwareBeliefs& beliefs,
                     std::size_t first, std::size_t count) {
  const std::size_t images = crowd.images.size();
  if (predictions != nullptr) {
    if (predictions->begin.size() != images + 1) {
      throw DataError("predictions cover " +
                      std::to_string(predictions->begin.empty() ? 0 : predictions->begin.size() - 1) +
                      " images, the crowd has " + std::to_string(images) + ": predict on the crowd's images");
    }
    if (static_cast<std::size_t>(predictions->num_classes) != crowd.classes.size()) {
      throw DataError("predictions have " + std::to_string(predictions->num_classes) + " classes, the crowd has " +
                      std::to_string(crowd.classes.size()) + ": use a detector of the same classes");
    }
  }
  Problem p;
  const auto within = [&](const std::vector<std::size_t>& begin) { return begin[first + count] - begin[first]; };
  p.items.reserve(within(crowd.annotation_begin) + (predictions != nullptr ? within(predictions->begin) : 0));
  p.item_begin.reserve(count + 1);
  p.item_begin.push_back(0);
  p.seen_begin.push_back(0);
  for (std::size_t i = first; i < first + count; ++i) {
    ImageLabels labels = labels_of_image(crowd, i);
    if (predictions != nullptr) {
      const std::size_t at = predictions->begin[i], boxes = predictions->begin[i + 1] - at;
      labels.prediction_box = {predictions->box.data() + at, boxes};
      labels.prediction_score = {predictions->score.data() + at, boxes};
      labels.prediction_class_probs = {predictions->class_probs.data() + at * beliefs.classes, boxes * beliefs.classes};
    }
    p.skipped += append_items(labels, beliefs, p.items);
    p.size_known.push_back(labels.width > 0 && labels.height > 0 ? 1 : 0);
    p.size.push_back(image_extent(labels.width, labels.height,
                                  {p.items.data() + p.item_begin[i], p.items.size() - p.item_begin[i]}));
    p.item_begin.push_back(p.items.size());
    for (const Assignment& a : labels.seen_by) p.seen_by.push_back(a.annotator);
    if (predictions != nullptr) p.seen_by.push_back(static_cast<std::int32_t>(beliefs.annotators));
    const std::size_t seen = p.seen_begin.back();
    p.lone.push_back(is_lone(beliefs, {p.seen_by.data() + seen, p.seen_by.size() - seen}) ? 1 : 0);
    p.seen_begin.push_back(p.seen_by.size());
  }
  group_by_column(beliefs.log_confusion.label.size(), p);
  return p;
}

void weigh_looks(const AbsenceAwareBeliefs& beliefs, Problem& p) {
  p.look_weight.assign(p.seen_by.size(), 1.0);
  for (std::size_t i = 0; i < p.images(); ++i) {
    const Span<const std::int32_t> seen(p.seen_by.data() + p.seen_begin[i], p.seen_begin[i + 1] - p.seen_begin[i]);
    const std::vector<double> weights = look_weights(beliefs, seen);
    std::copy(weights.begin(), weights.end(), p.look_weight.begin() + static_cast<std::ptrdiff_t>(p.seen_begin[i]));
    Span<Item> items(p.items.data() + p.item_begin[i], p.item_begin[i + 1] - p.item_begin[i]);
    set_item_weights(seen, weights, items);
  }
}

}  // namespace absence_aware
}  // namespace bdc
