#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bdc/crowd/box.h"

namespace bdc {

/// An identifier as it stood in a file. Files use integers or strings; inside, everything is a dense index.
/// Order and equality: integers before strings, integers by value, strings by bytes.
struct ExternalId {
  std::string text;         ///< the integer's decimal digits or the string itself
  bool is_integer = false;  ///< how a writer must put it back
};

struct ImageRecord {
  ExternalId id;
  std::string file;
  int width = 0;  ///< pixels; 0 when the file did not say
  int height = 0;
};

struct ClassRecord {
  ExternalId id;
  std::string name;
};

struct AnnotatorRecord {
  ExternalId id;
  std::string name;  ///< may be empty
};

/// One box drawn by one annotator. Indices into CrowdData's lists.
struct Annotation {
  Box box;  ///< pixels of the original image
  std::int32_t image = 0;
  std::int32_t label = 0;
  std::int32_t annotator = 0;
};

/// Annotator `annotator` saw image `image`, even if nothing was drawn.
struct Assignment {
  std::int32_t image = 0;
  std::int32_t annotator = 0;
};

/// One true box. Used for reports only, never for aggregation or training.
struct TruthBox {
  Box box;
  std::int32_t image = 0;
  std::int32_t label = 0;
  bool is_crowd = false;
  double area = 0;  ///< as the file states it, otherwise the box's area
};

/// Labels of many annotators. Readers guarantee (and `finalize` checks) that all indices are in range, annotations,
/// assignments and truth are sorted by image (stable: file order inside an image), and every annotation has its
/// assignment. Flat and image-sorted, so an image's annotations are one contiguous range.
struct CrowdData {
  std::vector<ImageRecord> images;
  std::vector<ClassRecord> classes;
  std::vector<AnnotatorRecord> annotators;
  std::vector<Annotation> annotations;
  std::vector<Assignment> assignments;
  bool assignments_known = false;  ///< false: no file said who saw what, so assignments are "drew in the image"
  std::vector<TruthBox> truth;
  bool has_truth = false;
  /// One per image when has_truth, otherwise empty. 1: the truth lists this image, so that no true box means no object;
  /// 0: nobody looked, so reports leave the image out. finalize() sets it to all 1 when a reader left it empty.
  std::vector<std::uint8_t> truth_covers;

  /// annotations of image i are [annotation_begin[i], annotation_begin[i+1]); likewise the others. Set by finalize().
  std::vector<std::size_t> annotation_begin;
  std::vector<std::size_t> assignment_begin;
  std::vector<std::size_t> truth_begin;

  /// Sorts, adds the assignments that annotations imply, removes duplicates of assignments, builds the ranges.
  /// Throws DataError when an index is out of range.
  void finalize();
};

/// The classes' names, in order.
[[nodiscard]] std::vector<std::string> class_names(const CrowdData& data);

}  // namespace bdc
