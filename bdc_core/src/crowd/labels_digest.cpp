#include "bdc/crowd/labels_digest.h"

#include "bdc/base/checksum.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

template <class Number>
void add_number(Checksum& sum, Number value) {
  sum.add(&value, sizeof(value));
}

void add_box(Checksum& sum, std::int32_t image, std::int32_t label, const Box& box) {
  add_number(sum, image);
  add_number(sum, label);
  for (const double edge : {box.x1, box.y1, box.x2, box.y2}) add_number(sum, edge);
}

/// Stands before the mix; lines of version 0.1 have none.
constexpr const char* kForm = "2:";

std::string line_of(const CrowdData& labels, bool is_first_form) {
  Checksum sum;
  for (const ClassRecord& c : labels.classes) sum.add(c.name);
  for (const ImageRecord& image : labels.images) {
    sum.add(image.file);
    add_number(sum, image.width);
    add_number(sum, image.height);
  }
  for (const AnnotatorRecord& annotator : labels.annotators) sum.add(annotator.id.text);
  for (const Annotation& a : labels.annotations) {
    add_box(sum, a.image, a.label, a.box);
    add_number(sum, a.annotator);
  }
  for (const Assignment& a : labels.assignments) {
    add_number(sum, a.image);
    add_number(sum, a.annotator);
  }
  const bool is_truth = labels.annotators.empty();
  if (is_truth) {
    for (const TruthBox& t : labels.truth) {
      add_box(sum, t.image, t.label, t.box);
      if (!is_first_form) add_number(sum, static_cast<std::uint8_t>(t.is_crowd));
    }
  }
  return counted(labels.images.size(), "image", "images") + ", " + counted(labels.classes.size(), "class", "classes") +
         ", " + counted(labels.annotators.size(), "annotator", "annotators") + ", " +
         counted(is_truth ? labels.truth.size() : labels.annotations.size(), "box", "boxes") + ", digest " +
         (is_first_form ? "" : kForm) + sum.text();
}

}  // namespace

std::string labels_digest(const CrowdData& labels) {
  return line_of(labels, false);
}

std::string labels_digest_like(const std::string& saved, const CrowdData& labels) {
  return line_of(labels, saved.find(std::string("digest ") + kForm) == std::string::npos);
}

}  // namespace bdc
