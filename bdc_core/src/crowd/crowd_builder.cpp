#include "crowd/crowd_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/composed.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/box_limits.h"
#include "crowd/name_ties.h"

namespace bdc {
namespace {

std::string shown(const Box& box) {
  return "(" + shortest_decimal(box.x1) + ", " + shortest_decimal(box.y1) + ") to (" + shortest_decimal(box.x2) + ", " +
         shortest_decimal(box.y2) + ")";
}

/// What is wrong with a box; nullptr when nothing is.
const ProblemInfo* fault_of(const Box& box, bool may_be_empty) {
  if (!std::isfinite(box.x1) || !std::isfinite(box.y1) || !std::isfinite(box.x2) || !std::isfinite(box.y2)) {
    return &problem_info(ProblemKind::not_finite_box);
  }
  if (beyond_limits(box)) return &problem_info(ProblemKind::extreme_box);
  if (box.x2 < box.x1 || box.y2 < box.y1) return &problem_info(ProblemKind::inverted_box);
  if (may_be_empty) return nullptr;
  if (!box.valid()) return &problem_info(ProblemKind::empty_box);
  if (box.width() < smallest_extent || box.height() < smallest_extent) return &problem_info(ProblemKind::extreme_box);
  return nullptr;
}

/// Sorts rows by image, and lists of the same length with them; file order inside an image.
template <class Row, class... Companion>
void sort_by_image(std::vector<Row>& rows, std::vector<Companion>&... companions) {
  const auto by_image = [](const Row& a, const Row& b) { return a.image < b.image; };
  if (std::is_sorted(rows.begin(), rows.end(), by_image)) return;
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return by_image(rows[a], rows[b]); });
  const auto arrange = [&](auto& list) {
    auto old = list;
    for (std::size_t n = 0; n < order.size(); ++n) list[n] = old[order[n]];
  };
  arrange(rows);
  (arrange(companions), ...);
}

const char* expectation(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::not_finite_box:
      return "expected a box of finite numbers, found ";
    case ProblemKind::extreme_box:
      return "expected coordinates of at most 1e9 and a width and height of at least 1e-6 pixels, found the box ";
    case ProblemKind::inverted_box:
      return "expected a box with x1 < x2 and y1 < y2, found the inverted box ";
    default:
      return "expected a box with width and height above 0, found the empty box ";
  }
}

/// Names are the same however Unicode writes their accents.
bool same_name(std::string_view a, std::string_view b) {
  return a == b ||
         ((may_be_decomposed(a) || may_be_decomposed(b)) && composed(std::string(a)) == composed(std::string(b)));
}

}  // namespace

std::string ReadReport::text(const RecordPlace& place) const {
  std::string out = place.file < files.size() ? files[place.file] : std::string();
  if (place.line != 0) out += ":" + std::to_string(place.line);
  if (std::string_view(place.list) == "[]") {
    out += ": [" + std::to_string(place.index) + "]";
  } else if (*place.list != 0)
    out += std::string(": ") + place.list + "[" + std::to_string(place.index) + "]";
  return out;
}

CrowdBuilder::CrowdBuilder(BoxRole role, ProblemLog& problems, bool keep_places)
    : role_(role), problems_(problems), keep_places_(keep_places) {}

void CrowdBuilder::begin_file(const std::string& name) {
  report_.files.push_back(name);
  if (!images_.own_ids && !classes_.own_ids) return;
  source_ = report_.files.size() > 1 ? sources_++ : 0;
  const auto begin_ids = [](auto& list) {
    if (!list.own_ids) return;
    list.table = {};
    list.base = static_cast<std::int32_t>(list.mentions.size());
  };
  begin_ids(images_);
  begin_ids(classes_);
}

void CrowdBuilder::files_have_own_ids(bool images, bool classes) {
  images_.own_ids = images_.tied = images;
  classes_.own_ids = classes_.tied = classes;
}

void CrowdBuilder::image_is_annotators(std::int32_t image, std::int32_t annotator) {
  images_.tied = true;
  const auto [at, is_new] = annotator_sources_.try_emplace({source_, annotator}, sources_);
  if (is_new) ++sources_;
  images_.mentions[static_cast<std::size_t>(image)].source = at->second;
}

void CrowdBuilder::set_annotators(std::size_t first, const std::function<std::int32_t(std::int32_t image)>& who) {
  for (std::size_t n = first; n < annotations_.size(); ++n) {
    if (annotations_[n].annotator < 0) annotations_[n].annotator = who(annotations_[n].image);
  }
}

void CrowdBuilder::leave_out_anonymous() {
  std::size_t kept = 0;
  for (std::size_t n = 0; n < annotations_.size(); ++n) {
    if (annotations_[n].annotator < 0) continue;
    if (keep_places_) report_.annotation_place[kept] = report_.annotation_place[n];
    annotations_[kept++] = annotations_[n];
  }
  annotations_.resize(kept);
  if (keep_places_) report_.annotation_place.resize(kept);
}

RecordPlace CrowdBuilder::place(std::size_t line, const char* list, std::size_t index) const {
  return {static_cast<std::uint32_t>(report_.files.empty() ? 0 : report_.files.size() - 1), line, list, index};
}

void CrowdBuilder::report(ProblemKind kind, const RecordPlace& where, const std::string& message) {
  problems_.report(kind, [&] { return text(where) + ": " + message; });
}

template <class Record>
std::int32_t CrowdBuilder::refer(List<Record>& list, const RecordId& id, const char* field, const RecordPlace& place) {
  const std::int32_t number = list.base + list.table.add(id);
  if (static_cast<std::size_t>(number) == list.mentions.size())
    list.mentions.push_back({id, field, place, -1, 0, source_});
  return number;
}

template <class Record>
bool CrowdBuilder::define(List<Record>& list, const RecordId& id, const RecordPlace& where, std::int32_t& number) {
  number = refer(list, id, "id", where);
  Mention& mention = list.mentions[static_cast<std::size_t>(number)];
  if (mention.record >= 0) {
    if (mention.file == where.file) {
      problems_.report(ProblemKind::duplicate_id, [&] {
        return text(where) + ": the " + list.what + " id " + id.shown() + " is defined twice; ids must be unique";
      });
    }
    mention.file = where.file;
    return false;
  }
  mention.record = static_cast<std::int32_t>(list.records.size());
  mention.file = where.file;
  mention.first = where;
  if (mention.record != number) list.identity = false;
  list.records.emplace_back();
  list.records.back().id = id.external();
  return true;
}

void CrowdBuilder::define_image(const RecordId& id, std::string_view file, std::int64_t width, std::int64_t height,
                                const RecordPlace& where) {
  std::int32_t number = 0;
  const bool is_new = define(images_, id, where, number);
  ImageRecord& record =
      images_.records[static_cast<std::size_t>(images_.mentions[static_cast<std::size_t>(number)].record)];
  if (is_new || record.file.empty()) {
    record.file = file;
  } else if (!file.empty() && !same_name(record.file, file)) {
    problems_.report(ProblemKind::conflicting_records, [&] {
      return text(where) + ": image " + id.shown() + " is the file " + in_quotes(file) + " here and " +
             in_quotes(record.file) + " before; the same id must mean the same image in all files";
    });
  }
  set_image_size(number, width, height, where);
}

void CrowdBuilder::set_image_size(std::int32_t image, std::int64_t width, std::int64_t height,
                                  const RecordPlace& where) {
  const Mention& mention = images_.mentions[static_cast<std::size_t>(image)];
  ImageRecord& record = images_.records[static_cast<std::size_t>(mention.record)];
  constexpr std::int64_t limit = std::numeric_limits<int>::max();
  if (width < 0 || height < 0 || width > limit || height > limit || (width == 0) != (height == 0)) {
    problems_.report(ProblemKind::bad_record, [&] {
      return text(where) + ": expected an image's width and height above 0, found " + std::to_string(width) + " x " +
             std::to_string(height) + " for image " + mention.id.shown();
    });
    return;
  }
  if (width == 0) return;
  if (record.width == 0) {
    record.width = static_cast<int>(width);
    record.height = static_cast<int>(height);
  } else if (record.width != width || record.height != height) {
    problems_.report(ProblemKind::conflicting_records, [&] {
      return text(where) + ": image " + mention.id.shown() + " is " + std::to_string(width) + " x " +
             std::to_string(height) + " here and " + std::to_string(record.width) + " x " +
             std::to_string(record.height) + " before";
    });
  }
}

void CrowdBuilder::name_image_file(std::int32_t image, const std::string& file) {
  ImageRecord& record =
      images_.records[static_cast<std::size_t>(images_.mentions[static_cast<std::size_t>(image)].record)];
  if (record.file.empty()) record.file = file;
}

bool CrowdBuilder::has_size(std::int32_t image) const {
  return size(image).first > 0;
}

std::pair<int, int> CrowdBuilder::size(std::int32_t image) const {
  const std::int32_t record = images_.mentions[static_cast<std::size_t>(image)].record;
  if (record < 0) return {0, 0};
  const ImageRecord& found = images_.records[static_cast<std::size_t>(record)];
  return {found.width, found.height};
}

void CrowdBuilder::define_class(const RecordId& id, std::string_view name, const RecordPlace& where) {
  std::int32_t number = 0;
  const bool is_new = define(classes_, id, where, number);
  ClassRecord& record =
      classes_.records[static_cast<std::size_t>(classes_.mentions[static_cast<std::size_t>(number)].record)];
  if (is_new) {
    record.name = name;
  } else if (!same_name(record.name, name)) {
    problems_.report(ProblemKind::conflicting_records, [&] {
      return text(where) + ": class " + id.shown() + " is named " + in_quotes(name) + " here and " +
             in_quotes(record.name) + " before; the same id must mean the same class in all files";
    });
  }
}

void CrowdBuilder::define_annotator(const RecordId& id, std::string_view name, const RecordPlace& where) {
  std::int32_t number = 0;
  static_cast<void>(define(annotators_, id, where, number));
  const std::int32_t index = annotators_.mentions[static_cast<std::size_t>(number)].record;
  AnnotatorRecord& record = annotators_.records[static_cast<std::size_t>(index)];
  if (record.name.empty()) {
    record.name = name;
  } else if (!name.empty() && !same_name(record.name, name)) {
    problems_.report(ProblemKind::conflicting_records, [&] {
      return text(where) + ": annotator " + id.shown() + " is named " + in_quotes(name) + " here and " +
             in_quotes(record.name) + " before; the same id must mean the same person in all files";
    });
  }
}

std::int32_t CrowdBuilder::image(const RecordId& id, const char* field, const RecordPlace& where) {
  return refer(images_, id, field, where);
}
std::int32_t CrowdBuilder::label(const RecordId& id, const char* field, const RecordPlace& where) {
  return refer(classes_, id, field, where);
}
std::int32_t CrowdBuilder::annotator(const RecordId& id, const char* field, const RecordPlace& where) {
  return refer(annotators_, id, field, where);
}

std::int32_t CrowdBuilder::mention_image(const RecordId& id, std::string_view file, const RecordPlace& where) {
  const std::int32_t number = refer(images_, id, "image", where);
  if (images_.mentions[static_cast<std::size_t>(number)].record < 0) define_image(id, file, 0, 0, where);
  return number;
}

std::int32_t CrowdBuilder::mention_class(const RecordId& id, std::string_view name, const RecordPlace& where) {
  const std::int32_t number = refer(classes_, id, "class", where);
  if (classes_.mentions[static_cast<std::size_t>(number)].record < 0) define_class(id, name, where);
  return number;
}

std::int32_t CrowdBuilder::named_class(const RecordId& id, std::string_view name, const RecordPlace& where) {
  const std::int32_t number = mention_class(id, name, where);
  const Mention& mention = classes_.mentions[static_cast<std::size_t>(number)];
  const ClassRecord& record = classes_.records[static_cast<std::size_t>(mention.record)];
  if (!same_name(record.name, name)) {
    problems_.report(ProblemKind::conflicting_records, [&] {
      return text(where) + ": class " + id.shown() + " is named " + in_quotes(name) + " here and " +
             in_quotes(record.name) + " before";
    });
  }
  return number;
}

std::int32_t CrowdBuilder::mention_annotator(const RecordId& id, std::string_view name, const RecordPlace& where) {
  const std::int32_t number = refer(annotators_, id, "annotator", where);
  if (annotators_.mentions[static_cast<std::size_t>(number)].record < 0) define_annotator(id, name, where);
  return number;
}

void CrowdBuilder::define_mentioned_annotators() {
  for (std::size_t n = 0; n < annotators_.mentions.size(); ++n) {
    if (annotators_.mentions[n].record >= 0) continue;
    const Mention mention = annotators_.mentions[n];
    define_annotator(mention.id, "", mention.first);
  }
}

void CrowdBuilder::add_box(std::int32_t image, std::int32_t label, std::int32_t annotator, const Box& box,
                           const RecordPlace& where) {
  if (role_ == BoxRole::truth) {
    add_truth(image, label, box, false, -1, where);
    return;
  }
  if (const ProblemInfo* fault = fault_of(box, false)) {
    problems_.report(fault->kind, [&] { return text(where) + ": " + expectation(fault->kind) + shown(box); });
    return;
  }
  annotations_.push_back({box, image, label, annotator});
  if (keep_places_) report_.annotation_place.push_back(where);
}

void CrowdBuilder::add_truth(std::int32_t image, std::int32_t label, const Box& box, bool is_crowd, double area,
                             const RecordPlace& where, const std::array<double, 4>* xywh) {
  has_truth_ = true;
  if (const ProblemInfo* fault = fault_of(box, true)) {
    problems_.report(fault->kind, [&] { return text(where) + ": " + expectation(fault->kind) + shown(box); });
    return;
  }
  truth_.push_back({box, image, label, is_crowd, area < 0 ? box.area() : area});
  if (keep_places_) {
    report_.truth_place.push_back(where);
    report_.truth_xywh.push_back(xywh != nullptr ? *xywh
                                                 : std::array<double, 4>{box.x1, box.y1, box.width(), box.height()});
  }
}

void CrowdBuilder::add_assignment(std::int32_t image, std::int32_t annotator, const RecordPlace& where) {
  if (role_ == BoxRole::truth) {
    truth_covers(image);
    return;
  }
  assignments_.push_back({image, annotator});
  if (keep_places_ || one_each_) assignment_place_.push_back(where);
}

void CrowdBuilder::for_images_of_this_file(const std::function<void(std::int32_t)>& use) const {
  const auto file = static_cast<std::uint32_t>(report_.files.size() - 1);
  for (std::size_t n = 0; n < images_.mentions.size(); ++n) {
    if (images_.mentions[n].record >= 0 && images_.mentions[n].file == file) use(static_cast<std::int32_t>(n));
  }
}

template <class Record>
std::string CrowdBuilder::unknown_message(const List<Record>& list, const Mention& mention,
                                          const RecordPlace& where) const {
  std::string message = text(where) + ": " + mention.field + " " + mention.id.shown() + " is not in the list of " +
                        list.plural + " (" + std::to_string(list.records.size()) + " known)";
  const RecordId twin =
      mention.id.is_integer ? RecordId::string(std::to_string(mention.id.value)) : RecordId::untyped(mention.id.text);
  const std::int32_t other = list.table.find(twin);
  if (twin.is_integer != mention.id.is_integer && other >= 0 &&
      list.mentions[static_cast<std::size_t>(list.base) + static_cast<std::size_t>(other)].record >= 0) {
    message += "; there is " + twin.shown() + ", but integers and strings are different ids";
  } else if constexpr (std::is_same_v<Record, ClassRecord>) {
    const std::string wanted = mention.id.is_integer ? std::string() : mention.id.text;
    const ClassRecord* nearest = nullptr;
    std::size_t best = wanted.size() / 2 + 1;
    for (std::size_t j = 0; j < list.records.size() && j < 1000 && !wanted.empty() && wanted.size() < 100; ++j) {
      const std::size_t distance = edit_distance(wanted, list.records[j].name.substr(0, 100));
      if (distance < best) nearest = &list.records[j];
      best = std::min(best, distance);
    }
    if (nearest != nullptr) message += "; nearest name " + in_quotes(nearest->name);
  }
  return message;
}

/// The record of a mention; -1 after reporting that there is none.
template <class Record>
std::int32_t CrowdBuilder::resolved(List<Record>& list, std::int32_t number, const RecordPlace& where) {
  const Mention& mention = list.mentions[static_cast<std::size_t>(number)];
  if (mention.record < 0) {
    problems_.report(list.unknown, [&] {
      return unknown_message(list, mention, where.line == 0 && *where.list == 0 ? mention.first : where);
    });
  }
  return mention.record;
}

std::map<std::uint32_t, std::int32_t> CrowdBuilder::annotators_of_sources() const {
  std::map<std::uint32_t, std::int32_t> out;
  const auto add = [&](std::int32_t image, std::int32_t annotator) {
    const auto [at, is_new] = out.try_emplace(images_.mentions[static_cast<std::size_t>(image)].source, annotator);
    if (!is_new && at->second != annotator) at->second = -1;
  };
  for (const Assignment& a : assignments_) add(a.image, a.annotator);
  for (const Annotation& a : annotations_) add(a.image, a.annotator);
  return out;
}

template <class Record>
void CrowdBuilder::tie(List<Record>& list) {
  constexpr bool are_images = std::is_same_v<Record, ImageRecord>;
  std::vector<NamedRecord> named(list.records.size());
  std::vector<RecordPlace> place(list.records.size());
  for (const Mention& mention : list.mentions) {
    if (mention.record < 0) continue;
    const auto n = static_cast<std::size_t>(mention.record);
    if constexpr (are_images) {
      named[n] = {list.records[n].file, mention.id, mention.source};
    } else {
      named[n] = {list.records[n].name, mention.id, mention.source};
    }
    place[n] = mention.first;
  }
  std::vector<std::size_t> same;
  if constexpr (are_images) {
    same = same_images(named, [&](std::size_t n, std::size_t other) {
      report(ProblemKind::conflicting_records, place[n],
             "image " + named[n].id.shown() + " (" + in_quotes(named[n].name) +
                 ") may be several images by its name, " + in_quotes(named[other].name) + " of " + text(place[other]) +
                 " among them; give the images file names, with folders, that tell them apart");
    });
    const std::map<std::uint32_t, std::int32_t> who = annotators_of_sources();
    for (NamedRecord& record : named) {
      if (const auto at = who.find(record.source); at != who.end()) record.who = at->second;
    }
    if (const std::size_t tied = tie_versions(named, same); tied > 0) tell_versions(tied);
  } else {
    same = same_classes(named);
  }
  // What is one thing becomes one record, in the order of first sight.
  std::vector<Record> kept;
  std::vector<std::int32_t> to(list.records.size(), -1);
  IdTable ids;
  std::int64_t largest = 0;
  for (const NamedRecord& record : named) largest = std::max(largest, record.id.is_integer ? record.id.value : 0);
  std::size_t tied_by_name = 0, renumbered = 0;
  for (std::size_t n = 0; n < same.size(); ++n) {
    if (same[n] != n) continue;
    to[n] = static_cast<std::int32_t>(kept.size());
    kept.push_back(std::move(list.records[n]));
    const std::size_t known = ids.size();
    if (static_cast<std::size_t>(ids.add(named[n].id)) != known && largest < std::numeric_limits<std::int64_t>::max()) {
      kept.back().id = RecordId::integer(++largest).external();
      ++renumbered;
    }
  }
  for (std::size_t n = 0; n < same.size(); ++n) {
    if (same[n] == n) continue;
    to[n] = to[same[n]];
    const NamedRecord &here = named[n], &before = named[same[n]];
    if (here.id.is_integer != before.id.is_integer || here.id.value != before.id.value ||
        here.id.text != before.id.text) {
      ++tied_by_name;
    }
    if constexpr (are_images) {
      ImageRecord& image = kept[static_cast<std::size_t>(to[n])];
      const ImageRecord& other = list.records[n];
      if (image.file.empty()) image.file = other.file;
      if (image.width == 0) {
        image.width = other.width;
        image.height = other.height;
      } else if (other.width != 0 && (other.width != image.width || other.height != image.height)) {
        report(ProblemKind::conflicting_records, place[n],
               "image " + (other.file.empty() ? named[n].id.shown() : in_quotes(other.file)) + " is " +
                   std::to_string(other.width) + " x " + std::to_string(other.height) + " here and " +
                   std::to_string(image.width) + " x " + std::to_string(image.height) + " before (" +
                   text(place[same[n]]) + ")");
      }
    }
  }
  // What a file refers to without defining it is what another file calls so, where all that do mean the same.
  IdMap<std::int32_t> by_id;
  for (std::size_t n = 0; n < named.size(); ++n) {
    const std::int32_t* known = by_id.find(named[n].id);
    by_id.set(named[n].id, known == nullptr || *known == to[n] ? to[n] : -1);
  }
  list.records.swap(kept);
  for (Mention& mention : list.mentions) {
    if (mention.record >= 0) {
      mention.record = to[static_cast<std::size_t>(mention.record)];
    } else if (const std::int32_t* known = by_id.find(mention.id); known != nullptr) {
      mention.record = *known;
    }
  }
  list.identity = false;
  if (tied_by_name > 0) {
    const std::size_t n = tied_by_name;
    notes_.push_back(counted(n, list.what, list.plural) + (n == 1 ? " has" : " have") +
                     " different ids in different files and " +
                     (n == 1 ? "is tied by its name" : "are tied by their names"));
  }
  if (renumbered > 0) {
    const bool one = renumbered == 1;
    notes_.push_back(counted(renumbered, list.what, list.plural) + (one ? " has a new id" : " have new ids") +
                     ", because another file uses " + (one ? "its id" : "theirs") + " for something else");
  }
}

void CrowdBuilder::tell_versions(std::size_t tied) {
  notes_.push_back(counted(tied, "image") + (tied == 1 ? " is" : " are") +
                   " tied to another annotator's by the name before Roboflow's export (cat_jpg.rf.<hash>.jpg is "
                   "cat.jpg)");
}

void CrowdBuilder::check_repeated_assignments() {
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> first;
  for (std::size_t n = 0; n < assignments_.size(); ++n) {
    const Assignment& a = assignments_[n];
    const auto added = first.try_emplace({a.image, a.annotator}, n);
    if (added.second) continue;
    const ImageRecord& image = images_.records[static_cast<std::size_t>(a.image)];
    const AnnotatorRecord& who = annotators_.records[static_cast<std::size_t>(a.annotator)];
    problems_.report(ProblemKind::duplicate_id, [&] {
      return text(assignment_place_[n]) + ": " + in_quotes(who.id.text) + " labelled the image " +
             in_quotes(image.file.empty() ? image.id.text : image.file) + " before (" +
             text(assignment_place_[added.first->second]) +
             "), and would count twice; leave one of them out, or, if two people drew, read with --annotator-from file "
             "or folder";
    });
  }
}

CrowdData CrowdBuilder::finish(ReadReport* report) {
  leave_out_anonymous();
  if (images_.tied) tie(images_);
  if (classes_.tied) tie(classes_);
  const auto place_of = [](const std::vector<RecordPlace>& places, std::size_t n) {
    return n < places.size() ? places[n] : RecordPlace{};
  };
  const bool all_known = images_.identity && classes_.identity && annotators_.identity &&
                         images_.mentions.size() == images_.records.size() &&
                         classes_.mentions.size() == classes_.records.size() &&
                         annotators_.mentions.size() == annotators_.records.size();
  if (!all_known) {
    const auto resolve = [&](std::int32_t& row, auto& table, const RecordPlace& where) {
      row = resolved(table, row, where);
      return row >= 0;
    };
    std::size_t kept = 0;
    for (std::size_t n = 0; n < annotations_.size(); ++n) {
      Annotation a = annotations_[n];
      const RecordPlace where = place_of(report_.annotation_place, n);
      const bool is_whole = resolve(a.image, images_, where) && resolve(a.label, classes_, where) &&
                            resolve(a.annotator, annotators_, where);
      if (!is_whole) continue;
      if (keep_places_) report_.annotation_place[kept] = where;
      annotations_[kept++] = a;
    }
    annotations_.resize(kept);
    if (keep_places_) report_.annotation_place.resize(kept);
    kept = 0;
    for (std::size_t n = 0; n < assignments_.size(); ++n) {
      Assignment a = assignments_[n];
      const RecordPlace where = place_of(assignment_place_, n);
      if (!resolve(a.image, images_, where) || !resolve(a.annotator, annotators_, where)) continue;
      if (n < assignment_place_.size()) assignment_place_[kept] = where;
      assignments_[kept++] = a;
    }
    assignments_.resize(kept);
    kept = 0;
    for (std::size_t n = 0; n < truth_.size(); ++n) {
      TruthBox t = truth_[n];
      const RecordPlace where = place_of(report_.truth_place, n);
      if (!resolve(t.image, images_, where) || !resolve(t.label, classes_, where)) continue;
      if (keep_places_) {
        report_.truth_place[kept] = where;
        report_.truth_xywh[kept] = report_.truth_xywh[n];
      }
      truth_[kept++] = t;
    }
    truth_.resize(kept);
    if (keep_places_) {
      report_.truth_place.resize(kept);
      report_.truth_xywh.resize(kept);
    }
    kept = 0;
    for (const std::int32_t image : truth_covered_) {
      const std::int32_t record = resolved(images_, image, {});
      if (record >= 0) truth_covered_[kept++] = record;
    }
    truth_covered_.resize(kept);
  }

  if (one_each_) check_repeated_assignments();
  if (keep_places_) {
    const auto places_of = [](const auto& list) {
      std::vector<RecordPlace> places(list.records.size());
      for (auto mention = list.mentions.rbegin(); mention != list.mentions.rend(); ++mention) {  // the first counts
        if (mention->record >= 0) places[static_cast<std::size_t>(mention->record)] = mention->first;
      }
      return places;
    };
    report_.image_place = places_of(images_);
    report_.class_place = places_of(classes_);
    report_.annotator_place = places_of(annotators_);
  }
  CrowdData data;
  data.images.swap(images_.records);
  data.classes.swap(classes_.records);
  if (role_ == BoxRole::crowd) data.annotators.swap(annotators_.records);
  data.annotations.swap(annotations_);
  data.assignments.swap(assignments_);
  data.assignments_known = assignments_known_ && role_ == BoxRole::crowd;
  data.truth.swap(truth_);
  data.has_truth = has_truth_ || role_ == BoxRole::truth;
  if (data.has_truth && coverage_listed_) {
    data.truth_covers.assign(data.images.size(), 0);
    for (const std::int32_t image : truth_covered_) data.truth_covers[static_cast<std::size_t>(image)] = 1;
  }
  if (keep_places_) {  // otherwise finalize sorts, in less memory
    sort_by_image(data.annotations, report_.annotation_place);
    sort_by_image(data.truth, report_.truth_place, report_.truth_xywh);
  }
  data.finalize();
  if (report != nullptr) {
    const std::string format = report->format;
    *report = std::move(report_);
    report->format = format;
  }
  return data;
}

}  // namespace bdc
