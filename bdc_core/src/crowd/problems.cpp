#include "bdc/crowd/problems.h"

#include <stdexcept>

namespace bdc {
namespace {

constexpr ProblemInfo table[] = {
    {ProblemKind::unreadable_file, "unreadable_file", Severity::error, "files that cannot be read to the end",
     "file that cannot be read to the end"},
    {ProblemKind::no_images, "no_images", Severity::error, "data sets without images", "data set without images"},
    {ProblemKind::bad_record, "bad_record", Severity::error, "records with a missing or wrong field",
     "record with a missing or wrong field"},
    {ProblemKind::duplicate_id, "duplicate_id", Severity::error, "ids that are defined twice",
     "id that is defined twice"},
    {ProblemKind::conflicting_records, "conflicting_records", Severity::error, "records that contradict another file",
     "record that contradicts another file"},
    {ProblemKind::unknown_image, "unknown_image", Severity::error, "references to an unknown image",
     "reference to an unknown image"},
    {ProblemKind::unknown_class, "unknown_class", Severity::error, "annotations with an unknown class",
     "annotation with an unknown class"},
    {ProblemKind::unknown_annotator, "unknown_annotator", Severity::error, "references to an unknown annotator",
     "reference to an unknown annotator"},
    {ProblemKind::misnamed_annotator, "misnamed_annotator", Severity::error,
     "annotations with several members that may name the annotator",
     "annotation with several members that may name the annotator"},
    {ProblemKind::not_finite_box, "not_finite_box", Severity::error, "boxes with NaN or infinite numbers",
     "box with NaN or infinite numbers"},
    {ProblemKind::extreme_box, "extreme_box", Severity::error, "boxes with coordinates beyond 1e9 or a vanishing size",
     "box with coordinates beyond 1e9 or a vanishing size"},
    {ProblemKind::inverted_box, "inverted_box", Severity::error, "boxes with a negative width or height",
     "box with a negative width or height"},
    {ProblemKind::empty_box, "empty_box", Severity::error, "boxes without area", "box without area"},
    {ProblemKind::box_outside_image, "box_outside_image", Severity::error, "boxes wholly outside the image",
     "box wholly outside the image"},
    {ProblemKind::box_leaves_image, "box_leaves_image", Severity::warning, "boxes partly outside the image",
     "box partly outside the image"},
    {ProblemKind::duplicate_annotation, "duplicate_annotation", Severity::warning,
     "annotations that repeat one of the same annotator", "annotation that repeats one of the same annotator"},
    {ProblemKind::duplicate_annotation_id, "duplicate_annotation_id", Severity::warning,
     "annotations with an id that another one has", "annotation with an id that another one has"},
    {ProblemKind::duplicate_image_file, "duplicate_image_file", Severity::warning,
     "images with the file of another image", "image with the file of another image"},
    {ProblemKind::duplicate_class_name, "duplicate_class_name", Severity::warning,
     "classes with the name of another class", "class with the name of another class"},
    {ProblemKind::ignored_shape, "ignored_shape", Severity::warning, "shapes that are not plain boxes",
     "shape that is not a plain box"},
    {ProblemKind::image_without_size, "image_without_size", Severity::warning, "images without a size",
     "image without a size"},
    {ProblemKind::image_without_annotations, "image_without_annotations", Severity::warning,
     "images without annotations", "image without annotations"},
    {ProblemKind::annotator_without_assignments, "annotator_without_assignments", Severity::warning,
     "annotators who saw no image", "annotator who saw no image"},
    {ProblemKind::annotator_with_one_image, "annotator_with_one_image", Severity::warning,
     "annotators who saw only one image", "annotator who saw only one image"},
    {ProblemKind::class_without_annotations, "class_without_annotations", Severity::warning,
     "classes without annotations", "class without annotations"},
    {ProblemKind::class_imbalance, "class_imbalance", Severity::warning, "classes far rarer than the most frequent one",
     "class far rarer than the most frequent one"},
};
static_assert(sizeof(table) / sizeof(table[0]) == problem_kinds);

}  // namespace

const ProblemInfo& problem_info(ProblemKind kind) {
  const auto row = static_cast<std::size_t>(kind);
  if (row >= problem_kinds || table[row].kind != kind) throw std::logic_error("the table of problems is out of order");
  return table[row];
}

std::size_t ProblemLog::count(Severity severity) const {
  std::size_t sum = 0;
  for (const ProblemInfo& row : table) {
    if (row.severity == severity) sum += entry(row.kind).count;
  }
  return sum;
}

}  // namespace bdc
