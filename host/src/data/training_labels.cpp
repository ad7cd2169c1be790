#include "data/training_labels.h"

#include <algorithm>

#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "data/box_map.h"

namespace bdc::host {
namespace {

/// Boxes by what becomes of them.
struct Counts {
  std::size_t used = 0, empty = 0, outside = 0, small = 0;
  std::vector<std::size_t> of_image, of_class;  ///< used ones

  [[nodiscard]] std::size_t left_out() const { return empty + outside + small; }
};

Counts count_boxes(const CrowdData& labels, double input_size) {
  Counts out;
  out.of_image.assign(labels.images.size(), 0);
  out.of_class.assign(labels.classes.size(), 0);
  const auto add = [&](const Box& box, std::int32_t image, std::int32_t label) {
    const ImageRecord& record = labels.images[static_cast<std::size_t>(image)];
    const double width = record.width, height = record.height, scale = input_size / std::max({width, height, 1.0});
    const AffineMap to_input{scale, 0, 0, 0, scale, 0};
    if (!box.valid()) {
      ++out.empty;
    } else if (!(box.x1 < width && box.y1 < height && box.x2 > 0 && box.y2 > 0)) {
      ++out.outside;
    } else if (!clip_to_input(map_box(to_input, box), input_size, input_size)) {
      ++out.small;
    } else {
      ++out.used;
      ++out.of_image[static_cast<std::size_t>(image)];
      ++out.of_class[static_cast<std::size_t>(label)];
    }
  };
  if (labels.annotators.empty()) {
    for (const TruthBox& t : labels.truth) {
      if (!t.is_crowd) add(t.box, t.image, t.label);
    }
  } else {
    for (const Annotation& a : labels.annotations) add(a.box, a.image, a.label);
  }
  return out;
}

/// "7 without area, 2 outside their image"
std::string reasons(const Counts& counts, std::int64_t input_size) {
  std::vector<std::string> out;
  const auto add = [&](std::size_t count, const std::string& why) {
    if (count > 0) out.push_back(std::to_string(count) + " " + why);
  };
  add(counts.empty, "without area");
  add(counts.outside, "outside the image");
  add(counts.small, "too small or too far outside in an input of " + std::to_string(input_size) + " pixels");
  return join(out);
}

/// Images without a box, and those of them that nobody is known to have looked at.
std::string of_empty_images(const CrowdData& labels, const Counts& counts) {
  std::size_t without = 0, unseen = 0;
  for (std::size_t i = 0; i < counts.of_image.size(); ++i) {
    if (counts.of_image[i] > 0) continue;
    ++without;
    if (!labels.annotators.empty() && labels.assignment_begin[i] == labels.assignment_begin[i + 1]) ++unseen;
  }
  if (without == 0) return "";
  return std::to_string(without) + " of " + std::to_string(counts.of_image.size()) +
         " training images have no box; the detector learns that nothing is there" +
         (unseen > 0 ? " (" + std::to_string(unseen) + " of them no annotator is known to have seen)" : "");
}

std::string of_empty_classes(const CrowdData& labels, const Counts& counts) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> names;
  std::size_t without = 0;
  for (std::size_t j = 0; j < counts.of_class.size(); ++j) {
    if (counts.of_class[j] > 0) continue;
    if (without++ < kMost) names.push_back(printable(labels.classes[j].name));
  }
  if (without == 0) return "";
  return std::to_string(without) + " of " + std::to_string(counts.of_class.size()) +
         " classes have no box to learn from: " + join(names) +
         (without > kMost ? " and " + std::to_string(without - kMost) + " more" : "");
}

}  // namespace

std::vector<std::string> check_training_labels(const CrowdData& labels, std::int64_t input_size) {
  const Counts counts = count_boxes(labels, static_cast<double>(input_size));
  const std::string why = reasons(counts, input_size);
  if (labels.classes.empty()) {
    throw DataError("the training labels list no classes, so nothing can be learnt");
  }
  if (counts.used == 0) {
    throw DataError("the training labels hold no box that can be trained on in " +
                    std::to_string(labels.images.size()) + " images (" +
                    (why.empty() ? "there are none" : "found " + why) +
                    "), so nothing can be learnt\n  advice: `bdc-host validate` shows what was read from data.labels");
  }
  std::vector<std::string> out;
  if (counts.left_out() > 0) {
    out.push_back(std::to_string(counts.left_out()) + " of " + std::to_string(counts.left_out() + counts.used) +
                  " boxes are left out: " + why);
  }
  for (const std::string& warning : {of_empty_images(labels, counts), of_empty_classes(labels, counts)}) {
    if (!warning.empty()) out.push_back(warning);
  }
  return out;
}

}  // namespace bdc::host
