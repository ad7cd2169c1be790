#include "fixed_consensus.h"

#include <stdexcept>

#include "bdc/base/text.h"

namespace bdc {

void FixedConsensus::begin(const CrowdData& crowd, int threads, Ranks& ranks) {
  FitInput input;
  input.crowd = &crowd;
  input.threads = threads;
  input.ranks = &ranks;
  input.whole = Whole::in_all;
  targets_ = fit(input).targets;
  nothing_ = {};
}

Targets FixedConsensus::observe(std::size_t image, const DetectedBoxes&) {
  ++nothing_.images_;
  Targets out;
  append_image(targets_, image, out);
  return out;
}

double FixedConsensus::finish_epoch() {
  nothing_ = {};
  return 0;
}

void FixedConsensus::load(const std::string& bytes) {
  if (!bytes.empty()) throw std::invalid_argument("expected no state, for nothing is learnt, found one");
}

void FixedConsensus::NoEvidence::merge(const Evidence& other) {
  if (dynamic_cast<const NoEvidence*>(&other) == nullptr) {
    throw std::invalid_argument("evidence of different learners cannot be merged");
  }
  images_ += other.images();
}

void FixedConsensus::NoEvidence::merge_saved(const std::string& bytes) {
  NoEvidence other;
  other.load(bytes);
  merge(other);
}

void FixedConsensus::NoEvidence::load(const std::string& bytes) {
  const auto count = parse_integer(bytes);
  if (!count || *count < 0) throw std::invalid_argument("expected a number of images as evidence");
  images_ = static_cast<std::size_t>(*count);
}

}  // namespace bdc
