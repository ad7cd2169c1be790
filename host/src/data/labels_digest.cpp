#include "data/labels_digest.h"

#include "files/checksum.h"
#include "text/counted.h"

namespace bdc::host {
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

}  // namespace

std::string labels_digest(const CrowdData& labels) {
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
    for (const TruthBox& t : labels.truth) add_box(sum, t.image, t.label, t.box);
  }
  return counted(labels.images.size(), "image", "images") + ", " + counted(labels.classes.size(), "class", "classes") +
         ", " + counted(labels.annotators.size(), "annotator", "annotators") + ", " +
         counted(is_truth ? labels.truth.size() : labels.annotations.size(), "box", "boxes") + ", digest " + sum.text();
}

}  // namespace bdc::host
