#include "synth/drawn_quality.h"

#include <cmath>
#include <stdexcept>

namespace bdc::host {
namespace {

double share(double part, double of) {
  return of > 0 ? part / of : 0;
}

std::array<double, 4> error_of(const Box& drawn, const Box& object) {
  return {(drawn.x1 + drawn.x2 - object.x1 - object.x2) / 2 / object.width(),
          (drawn.y1 + drawn.y2 - object.y1 - object.y2) / 2 / object.height(), std::log(drawn.width() / object.width()),
          std::log(drawn.height() / object.height())};
}

}  // namespace

std::vector<DrawnQuality> measure_drawings(const CrowdData& labels, const std::vector<std::int32_t>& drawn_for) {
  if (drawn_for.size() != labels.annotations.size()) {
    throw std::invalid_argument("drawings: expected an object, or none, for every annotation");
  }
  std::vector<DrawnQuality> out(labels.annotators.size());
  std::vector<double> objects(labels.images.size(), 0.0), touching(out.size(), 0.0);
  for (const TruthBox& t : labels.truth) objects[static_cast<std::size_t>(t.image)] += t.is_crowd ? 0 : 1;
  for (const Assignment& a : labels.assignments) {
    DrawnQuality& q = out[static_cast<std::size_t>(a.annotator)];
    q.images += 1;
    q.objects += objects[static_cast<std::size_t>(a.image)];
  }
  for (std::size_t n = 0; n < drawn_for.size(); ++n) {
    const Annotation& a = labels.annotations[n];
    const auto k = static_cast<std::size_t>(a.annotator);
    DrawnQuality& q = out[k];
    if (drawn_for[n] < 0) {
      q.spurious += 1;
      continue;
    }
    const TruthBox& object = labels.truth[static_cast<std::size_t>(drawn_for[n])];
    const double overlap = iou(a.box, object.box);
    q.drawn += 1;
    q.right += a.label == object.label ? 1 : 0;
    q.mean_iou += overlap;
    if (!(overlap > 0) || !object.box.valid()) continue;
    touching[k] += 1;
    const auto error = error_of(a.box, object.box);
    for (std::size_t c = 0; c < 4; ++c) q.bias[c] += error[c], q.noise[c] += error[c] * error[c];
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    DrawnQuality& q = out[k];
    q.mean_iou = share(q.mean_iou, q.drawn);
    for (std::size_t c = 0; c < 4; ++c) {
      q.bias[c] = share(q.bias[c], touching[k]);
      q.noise[c] = std::sqrt(std::fmax(0.0, share(q.noise[c], touching[k]) - q.bias[c] * q.bias[c]));
    }
  }
  return out;
}

Json to_json(const DrawnQuality& q) {
  return {{"recall", share(q.drawn, q.objects)},
          {"spurious_rate", share(q.spurious, q.images)},
          {"class_accuracy", share(q.right, q.drawn)},
          {"box_iou", q.mean_iou},
          {"bias", q.bias},
          {"noise", q.noise}};
}

}  // namespace bdc::host
