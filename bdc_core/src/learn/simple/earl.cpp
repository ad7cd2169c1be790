// wbf-earl: weighted boxes fusion over all annotators of the data set, with a whole-number weight per fused box. Score:
// the fused score; weight: the whole number divided by the number of annotators.
#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "fusion_method.h"

namespace bdc {
namespace {

/// "2:1.0,5:0.6" -> (2, 1.0), (5, 0.6).
std::vector<std::pair<int, double>> parse_ranges(const std::string& text) {
  std::vector<std::pair<int, double>> ranges;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    std::istringstream fields(part);
    int end = 0;
    double weight = 0;
    char colon = 0, rest = 0;
    const bool parsed = static_cast<bool>(fields >> end >> colon >> weight) && colon == ':' && !(fields >> rest);
    if (!parsed || !(weight > 0) || end < 1 || (!ranges.empty() && end <= ranges.back().first)) {
      throw std::invalid_argument(
          "option \"annotator_weights\": expected end:weight pairs with rising ends and positive "
          "weights, such as 2:1.0,5:0.6; found \"" +
          text + "\"");
    }
    ranges.emplace_back(end, weight);
  }
  return ranges;
}

class Earl final : public FixedConsensus {
 public:
  Earl(std::vector<std::pair<int, double>> ranges, double iou) : ranges_(std::move(ranges)), iou_(iou) {}

  FitResult fit(const FitInput& input) override {
    const std::size_t K = input.crowd != nullptr ? input.crowd->annotators.size() : 0;
    const std::vector<double> weights = ranges_.empty() ? std::vector<double>{} : weights_from_ranges(ranges_, K);
    return aggregate_images(input, [&](std::size_t i, ImageTargets& out) {
      for (const EarlBox& e : earl(boxes_by_annotator(*input.crowd, i), K, weights, iou_)) {
        out.add(e.fused.box, e.fused.label, std::min(1.0, static_cast<double>(e.weight) / static_cast<double>(K)),
                e.fused.score);
      }
    });
  }

 private:
  std::vector<std::pair<int, double>> ranges_;
  double iou_;
};

}  // namespace

LearnerEntry earl_learner() {
  LearnerEntry entry;
  entry.info.name = "wbf-earl";
  entry.info.description = "weighted boxes fusion over all annotators with whole-number weights";
  entry.info.options = {number_option("iou", 0.4, "overlap above which boxes are fused", 0, 1),
                        string_option("annotator_weights", "",
                                      "end:weight pairs over annotator indices, such as 2:1.0,5:0.6; empty: all 1")};
  entry.create = [](const Options& options) {
    return std::make_unique<Earl>(parse_ranges(options.get_string("annotator_weights")), options.get_number("iou"));
  };
  return entry;
}

}  // namespace bdc
