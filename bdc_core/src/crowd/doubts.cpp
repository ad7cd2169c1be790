#include "crowd/doubts.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "bdc/base/error.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

/// Whether a box may be shares of its image's size: no larger than a pixel, at the image's corner.
bool may_be_shares(const Box& box, const ImageRecord& image) {
  constexpr double beyond = 0.5;  // boxes may leave their images
  if (image.width > 0 && (image.width <= 4 || image.height <= 4)) return false;
  return box.x1 >= -beyond && box.y1 >= -beyond && box.x2 <= 1 + beyond && box.y2 <= 1 + beyond && box.width() <= 1 &&
         box.height() <= 1;
}

/// Boxes, and those among them that may be shares.
struct Shares {
  std::size_t boxes = 0, may_be = 0, fractions = 0;
  void add(const Box& box, const ImageRecord& image) {
    ++boxes;
    if (!may_be_shares(box, image)) return;
    ++may_be;
    const auto whole = [](double value) { return value == 0 || value == 1; };
    fractions += whole(box.x1) && whole(box.y1) && whole(box.x2) && whole(box.y2) ? 0 : 1;
  }
  [[nodiscard]] bool nearly_all() const { return may_be > 0 && 10 * may_be >= 9 * boxes; }
};

/// How many boxes an annotator drew, and a sum of 64-bit hashes over them, in which no order counts: two lists of boxes
/// with equal sums are the same but for one chance in 10^19.
using LabelsSum = std::pair<std::size_t, std::uint64_t>;

std::vector<LabelsSum> sums_by_annotator(const CrowdData& data) {
  std::vector<LabelsSum> out(data.annotators.size());
  const auto add = [](std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
  };
  const auto bits = [](double value) { return static_cast<std::uint64_t>(std::hash<double>{}(value)); };
  for (const Annotation& a : data.annotations) {
    std::uint64_t hash = add(static_cast<std::uint64_t>(a.image), static_cast<std::uint64_t>(a.label));
    for (const double side : {a.box.x1, a.box.y1, a.box.x2, a.box.y2}) hash = add(hash, bits(side));
    auto& [count, sum] = out[static_cast<std::size_t>(a.annotator)];
    ++count;
    sum += hash;
  }
  return out;
}

/// What two annotators are called; ids where they have no names.
std::string both(const AnnotatorRecord& a, const AnnotatorRecord& b) {
  return in_quotes(a.id.text) + " and " + in_quotes(b.id.text);
}

void tell_alike_annotators(ReadContext& context, const CrowdData& data) {
  std::map<std::string, std::size_t> first_of;
  std::size_t alike = 0;
  std::string example;
  for (std::size_t k = 0; k < data.annotators.size(); ++k) {
    const AnnotatorRecord& here = data.annotators[k];
    if (here.id.is_integer) continue;
    const auto [at, is_new] = first_of.try_emplace(plain_spelling(here.id.text), k);
    if (is_new || at->first.empty()) continue;
    if (++alike == 1) example = both(data.annotators[at->second], here);
  }
  if (alike == 0) return;
  context.note(counted(alike, "annotator is", "annotators are") +
               " called like another but for case or blanks, such as " + example +
               "; they are taken for different people");
}

void tell_copies(ReadContext& context, const CrowdData& data) {
  constexpr std::size_t few = 3;  // boxes that two people may well draw alike, in whole pixels
  const std::vector<LabelsSum> sums = sums_by_annotator(data);
  std::map<LabelsSum, std::size_t> first_of;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (sums[k].first <= few) continue;
    const auto [at, is_new] = first_of.try_emplace(sums[k], k);
    if (is_new) continue;
    context.note("the annotators " + both(data.annotators[at->second], data.annotators[k]) + " have the same " +
                 std::to_string(sums[k].first) +
                 " boxes to the last digit; if one file is a copy of the other, leave it out: its boxes count twice");
  }
}

}  // namespace

std::string plain_spelling(const std::string& name) {
  std::string out;
  for (const char c : lower_case(name)) {
    if (c != ' ' && c != '_' && c != '-') out += c;
  }
  return out;
}

void tell_what_is_left_out(ReadContext& context, const CrowdData& data) {
  const std::string& first = context.paths.front();
  if (context.shapes_taken > 0) {
    context.note(counted(context.shapes_taken, "shape became the upright box around it",
                         "shapes became the upright boxes around them"));
  }
  std::vector<std::string> kinds;
  std::string advice;
  std::size_t left = context.shapes_left;
  if (context.shapes_left > 0) {
    kinds.push_back(counted(context.shapes_left, "shape that is not a box", "shapes that are not boxes"));
    if (!context.options.shapes_to_boxes) {
      advice = "; --shapes-to-boxes takes the boxes around polygons, ellipses and masks";
    }
  }
  for (const auto& [one, entry] : context.left_out) {
    kinds.push_back(counted(entry.second, one, entry.first));
    left += entry.second;
  }
  ProblemLog& problems = context.builder.problems();
  if (data.annotations.empty() && data.truth.empty()) {
    if (left > 0) {
      problems.report(ProblemKind::bad_record,
                      [&] { return first + ": expected boxes, found nothing but " + join(kinds, " and ") + advice; });
    } else if (data.images.empty() && problems.count(Severity::error) == 0) {
      problems.report(ProblemKind::no_images, [&] { return first + ": expected images, found none"; });
    }
  }
  if (left > 0) context.note(join(kinds, " and ") + (left == 1 ? " is left out" : " are left out") + advice);
  if (context.scored > 0) {
    context.note(counted(context.scored, "box has a score", "boxes have scores") +
                 " as a detector's have, and count as drawn by the annotators; if a detector made them, they belong in "
                 "`aggregate --predictions`");
  }
}

void tell_doubtful_annotators(ReadContext& context, const CrowdData& data) {
  tell_alike_annotators(context, data);
  tell_copies(context, data);
}

void require_pixels(const ReadContext& context, const CrowdData& data) {
  if (!context.refusal.empty()) throw DataError(context.refusal);
  if (context.unit_said) return;
  std::vector<Shares> of(data.annotators.size() + 1);  // the last are the truth's
  const auto image = [&](std::int32_t i) -> const ImageRecord& { return data.images[static_cast<std::size_t>(i)]; };
  for (const Annotation& a : data.annotations) of[static_cast<std::size_t>(a.annotator)].add(a.box, image(a.image));
  for (const TruthBox& t : data.truth) of.back().add(t.box, image(t.image));
  const bool asks = !context.shares_advice.empty();  // of the format, there is an answer to give
  const auto found = std::find_if(of.begin(), of.end(), [&](const Shares& shares) {
    return shares.nearly_all() && (asks || shares.fractions > 0);
  });
  if (found == of.end()) return;
  const auto k = static_cast<std::size_t>(found - of.begin());
  const std::string whose =
      k + 1 == of.size() ? "the true boxes" : "the boxes of " + in_quotes(data.annotators[k].id.text);
  const std::string advice =
      context.shares_advice.empty()
          ? "; expected pixels. Multiply x and width by the image's width and y and height by its height, or write the "
            "boxes as a table and read it with --columns unit=relative"
          : " or pixels; " + context.shares_advice;
  throw DataError(context.paths.front() + ": " + whose + " lie between 0 and 1 (" + std::to_string(found->may_be) +
                  " of " + std::to_string(found->boxes) + "), so they may be shares of the image's size" + advice);
}

}  // namespace bdc
