#include "learn/bdc/absence_aware/exact_evidence.h"

#include <cstring>
#include <stdexcept>

#include "learn/bdc/absence_aware/annotator_file.h"

namespace bdc::absence_aware {

ExactEvidence::ExactEvidence(const AbsenceAwareBeliefs& beliefs) : image_(empty_evidence(beliefs)) {
  source_.resize(image_.source.size());
  confusion_.resize(image_.confusion.value.size());
  class_count_.resize(image_.class_count.size());
}

ExactEvidence::Scalars ExactEvidence::scalars_of(const AbsenceAwareEvidence& e) {
  Scalars out;
  std::size_t n = 0;
  for_scalars(e, [&](double x) { out[n++] = x; });
  return out;
}

void ExactEvidence::set_scalars(const Scalars& from, AbsenceAwareEvidence& e) {
  std::size_t n = 0;
  for_scalars(e, [&](double& x) { x = from[n++]; });
}

void ExactEvidence::take_source(std::size_t k) {
  SourceNumbers numbers;
  std::memcpy(numbers.data(), &image_.source[k], sizeof(numbers));
  for (std::size_t n = 0; n < kSourceNumbers; ++n) source_[k][n].add(numbers[n]);
  image_.source[k] = {};
}

void ExactEvidence::take_column(std::size_t column) {
  const std::size_t J = image_.confusion.num_classes;
  for (std::size_t n = column * J; n < (column + 1) * J; ++n) {
    confusion_[n].add(image_.confusion.value[n]);
    image_.confusion.value[n] = 0;
  }
}

Targets ExactEvidence::observe(const AbsenceAwareBeliefs& beliefs, const ImageLabels& labels, double min_existence) {
  Targets out = consensus_of_image(beliefs, labels, min_existence, &image_);
  ++images_;
  // Only what the image can have touched is looked at: a crowd has many more annotators than an image.
  for (const Assignment& a : labels.seen_by) take_source(static_cast<std::size_t>(a.annotator));
  for (const Annotation& a : labels.annotations) {
    const auto k = static_cast<std::size_t>(a.annotator);
    take_source(k);
    take_column(image_.confusion.find(k, a.label));
  }
  const std::size_t J = beliefs.classes;
  if (beliefs.has_detector) {
    take_source(beliefs.annotators);
    const std::size_t first = image_.confusion.begin[beliefs.annotators];
    std::vector<char> given(J, 0);
    for (std::size_t n = 0; n < labels.prediction_class_probs.size(); ++n) {
      if (labels.prediction_class_probs[n] > 0) given[n % J] = 1;
    }
    for (std::size_t l = 0; l < J; ++l) {
      if (given[l] != 0) take_column(first + l);
    }
  }
  for (std::size_t j = 0; j < J; ++j) class_count_[j].add(image_.class_count[j]);
  image_.class_count.assign(J, 0.0);
  const Scalars scalars = scalars_of(image_);
  for (std::size_t n = 0; n < kEvidenceScalars; ++n) scalar_[n].add(scalars[n]);
  set_scalars({}, image_);
  return out;
}

AbsenceAwareEvidence ExactEvidence::total() const {
  AbsenceAwareEvidence out = image_;
  for (std::size_t k = 0; k < source_.size(); ++k) {
    SourceNumbers numbers;
    for (std::size_t n = 0; n < kSourceNumbers; ++n) numbers[n] = source_[k][n].value();
    std::memcpy(static_cast<void*>(&out.source[k]), numbers.data(), sizeof(numbers));
  }
  for (std::size_t n = 0; n < confusion_.size(); ++n) out.confusion.value[n] = confusion_[n].value();
  for (std::size_t j = 0; j < class_count_.size(); ++j) out.class_count[j] = class_count_[j].value();
  Scalars scalars;
  for (std::size_t n = 0; n < kEvidenceScalars; ++n) scalars[n] = scalar_[n].value();
  set_scalars(scalars, out);
  return out;
}

void ExactEvidence::clear() {
  images_ = 0;
  source_.assign(source_.size(), {});
  confusion_.assign(confusion_.size(), {});
  class_count_.assign(class_count_.size(), {});
  scalar_ = {};
}

void ExactEvidence::merge(const Evidence& other) {
  const auto* from = dynamic_cast<const ExactEvidence*>(&other);
  if (from == nullptr || from->source_.size() != source_.size() ||
      from->image_.confusion.begin != image_.confusion.begin ||
      from->image_.confusion.label != image_.confusion.label || from->class_count_.size() != class_count_.size()) {
    throw std::invalid_argument("evidence of different learners or crowds cannot be merged");
  }
  images_ += from->images_;
  for (std::size_t k = 0; k < source_.size(); ++k) {
    for (std::size_t n = 0; n < kSourceNumbers; ++n) source_[k][n].merge(from->source_[k][n]);
  }
  for (std::size_t n = 0; n < confusion_.size(); ++n) confusion_[n].merge(from->confusion_[n]);
  for (std::size_t j = 0; j < class_count_.size(); ++j) class_count_[j].merge(from->class_count_[j]);
  for (std::size_t n = 0; n < kEvidenceScalars; ++n) scalar_[n].merge(from->scalar_[n]);
}

std::string ExactEvidence::save() const {
  StateWriter state;
  write_state_header(state, kProfile, kStateForm);
  archive(state, *this);
  return state.take();
}

ExactEvidence ExactEvidence::read(const std::string& bytes) const {
  StateReader state(bytes);
  read_state_header(state, kProfile, kStateForm);
  ExactEvidence out = *this;
  archive(state, out);
  state.finish();
  return out;
}

}  // namespace bdc::absence_aware
