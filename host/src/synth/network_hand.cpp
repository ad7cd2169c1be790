#include "synth/network_hand.h"

#include <cmath>
#include <stdexcept>

#include "synth/draws.h"
#include "synth/random_box.h"

namespace bdc::host {
namespace {

std::vector<double> row_of(const std::vector<double>& matrix, std::size_t row, std::size_t columns) {
  const auto from = matrix.begin() + static_cast<std::ptrdiff_t>(row * columns);
  return {from, from + static_cast<std::ptrdiff_t>(columns)};
}

/// The steps that annotators with networks and guessing ones share.
class ByMatrix : public Hand {
 public:
  ByMatrix(const std::vector<double>& matrix, std::size_t classes) : background_(classes) {
    for (std::size_t t = 0; t <= classes; ++t) rows_.push_back(row_of(matrix, t, classes + 1));
  }

  void draw(const CrowdData& truth, std::size_t image, Random& random, std::vector<Drawing>& out) const override {
    for (std::size_t n = truth.truth_begin[image]; n < truth.truth_begin[image + 1]; ++n) {
      const TruthBox& object = truth.truth[n];
      if (object.is_crowd) continue;
      const std::size_t label = draw_index(rows_[static_cast<std::size_t>(object.label)], random);
      Box box;
      if (label == background_ || !box_of(truth.images[image], image, object.box, random, box)) continue;
      out.push_back({box, static_cast<std::int32_t>(label), static_cast<std::int32_t>(n)});
    }
    const std::size_t label = draw_index(rows_[background_], random);
    Box box;
    if (label == background_ || !box_anywhere(truth.images[image], image, random, box)) return;
    out.push_back({box, static_cast<std::int32_t>(label), -1});
  }

 protected:
  /// The box drawn for an object; false when there is none to draw.
  virtual bool box_of(const ImageRecord& size, std::size_t image, const Box& object, Random& random,
                      Box& out) const = 0;
  /// The box of a false positive.
  virtual bool box_anywhere(const ImageRecord& size, std::size_t image, Random& random, Box& out) const = 0;

 private:
  std::size_t background_;
  std::vector<std::vector<double>> rows_;
};

bool any(const std::vector<double>& weights) {
  for (const double w : weights) {
    if (w > 0) return true;
  }
  return false;
}

class NetworkHand : public ByMatrix {
 public:
  NetworkHand(const std::vector<double>& matrix, std::shared_ptr<const ImageProposals> proposals, std::size_t classes)
      : ByMatrix(matrix, classes), proposals_(std::move(proposals)) {}

 protected:
  bool box_of(const ImageRecord&, std::size_t image, const Box& object, Random& random, Box& out) const override {
    return take(image, proposal_weights(*proposals_, image, object), random, out);
  }
  bool box_anywhere(const ImageRecord&, std::size_t image, Random& random, Box& out) const override {
    std::vector<double> weights(proposals_->count(image));
    for (std::size_t n = 0; n < weights.size(); ++n) weights[n] = proposals_->at(image, n).objectness;
    return take(image, weights, random, out);
  }

 private:
  bool take(std::size_t image, const std::vector<double>& weights, Random& random, Box& out) const {
    if (!any(weights)) return false;
    out = proposals_->at(image, draw_index(weights, random)).box;
    return true;
  }
  std::shared_ptr<const ImageProposals> proposals_;
};

class GuessingHand : public ByMatrix {
 public:
  using ByMatrix::ByMatrix;

 protected:
  bool box_of(const ImageRecord& size, std::size_t image, const Box&, Random& random, Box& out) const override {
    return box_anywhere(size, image, random, out);
  }
  bool box_anywhere(const ImageRecord& size, std::size_t, Random& random, Box& out) const override {
    out = random_box(size.width, size.height, random);
    return true;
  }
};

}  // namespace

void ImageProposals::add_image(const std::vector<One>& proposals) {
  for (const One& p : proposals) {
    const std::array<float, 4> box = {static_cast<float>(p.box.x1), static_cast<float>(p.box.y1),
                                      static_cast<float>(p.box.x2), static_cast<float>(p.box.y2)};
    if (!p.box.valid() || !(p.objectness >= 0 && p.objectness <= 1) || !(box[0] < box[2]) || !(box[1] < box[3])) {
      throw std::invalid_argument("proposals: a box that is not valid, or an objectness outside of 0..1");
    }
    boxes_.push_back(box);
    objectness_.push_back(static_cast<float>(p.objectness));
  }
  begin_.push_back(boxes_.size());
}

ImageProposals::One ImageProposals::at(std::size_t image, std::size_t n) const {
  const auto& b = boxes_[begin_[image] + n];
  return {{b[0], b[1], b[2], b[3]}, objectness_[begin_[image] + n]};
}

std::vector<double> dirichlet_parameters(const std::vector<double>& counts, std::size_t classes, double scale) {
  const std::size_t size = classes + 1;
  double all = 0, right = 0;
  bool sound = counts.size() == size * size && scale > 0;
  for (std::size_t n = 0; n < counts.size(); ++n) {
    sound = sound && counts[n] >= 0 && std::isfinite(counts[n]);
    all += counts[n];
    if (n / size == n % size) right += counts[n];
  }
  if (!sound || !(all > 0)) throw std::invalid_argument("confusion: expected (classes + 1)^2 counts, some above 0");
  std::vector<double> out(counts.size());
  for (std::size_t t = 0; t < size; ++t) {
    double sum = 0;
    for (std::size_t c = 0; c < size; ++c) sum += counts[t * size + c];
    for (std::size_t c = 0; c < size; ++c) {
      const double guess = t == c ? right / all : (1 - right / all) / static_cast<double>(classes);
      out[t * size + c] = scale * (sum > 0 ? counts[t * size + c] : guess);
    }
  }
  return out;
}

std::vector<double> draw_matrix(const std::vector<double>& parameters, std::size_t classes, Random& random) {
  std::vector<double> out;
  for (std::size_t t = 0; t <= classes; ++t) {
    const auto row = draw_dirichlet(row_of(parameters, t, classes + 1), random);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

std::shared_ptr<const Hand> make_network_hand(const std::vector<double>& matrix,
                                              std::shared_ptr<const ImageProposals> proposals, std::size_t classes) {
  return std::make_shared<NetworkHand>(matrix, std::move(proposals), classes);
}

std::shared_ptr<const Hand> make_guessing_hand(std::size_t classes) {
  return std::make_shared<GuessingHand>(even_matrix(classes), classes);
}

std::vector<double> even_matrix(std::size_t classes) {
  return std::vector<double>((classes + 1) * (classes + 1), 1.0 / static_cast<double>(classes + 1));
}

std::vector<double> proposal_weights(const ImageProposals& proposals, std::size_t image, const Box& object) {
  std::vector<double> out(proposals.count(image));
  for (std::size_t n = 0; n < out.size(); ++n) {
    const auto one = proposals.at(image, n);
    out[n] = iou(one.box, object) * one.objectness;
  }
  return out;
}

void set_expected_numbers(SimulatedAnnotator& self, const std::vector<double>& matrix, const CrowdData& truth) {
  const std::size_t J = truth.classes.size(), size = J + 1;
  double objects = 0, drawn = 0, right = 0;
  for (const TruthBox& object : truth.truth) {
    if (object.is_crowd) continue;
    const auto t = static_cast<std::size_t>(object.label);
    objects += 1;
    drawn += 1 - matrix[t * size + J];
    right += matrix[t * size + t];
  }
  self.recall = objects > 0 ? drawn / objects : 0;
  self.class_accuracy = drawn > 0 ? right / drawn : 0;
  self.spurious_rate = 1 - matrix[J * size + J];
}

}  // namespace bdc::host
