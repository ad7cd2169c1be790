#include "bdc/learn/annotator_posteriors.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "bdc/base/error.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

std::string id_key(const ExternalId& id) {
  return (id.is_integer ? "i" : "s") + id.text;
}
const std::string& class_key(const ClassRecord& c) {
  return c.name.empty() ? c.id.text : c.name;
}

std::unordered_map<std::string, std::size_t> index_by_id(const std::vector<AnnotatorEvidence>& annotators) {
  std::unordered_map<std::string, std::size_t> index;
  index.reserve(annotators.size());
  for (std::size_t k = 0; k < annotators.size(); ++k) index.emplace(id_key(annotators[k].id), k);
  return index;
}

std::unordered_map<std::string, std::int32_t> index_by_name(const std::vector<ClassRecord>& classes) {
  std::unordered_map<std::string, std::int32_t> index;
  for (std::size_t j = 0; j < classes.size(); ++j) index.emplace(class_key(classes[j]), static_cast<std::int32_t>(j));
  return index;
}

void add_evidence(AnnotatorEvidence& to, const AnnotatorEvidence& from) {
  if (to.name.empty()) to.name = from.name;
  to.images += from.images;
  to.judged += from.judged;
  to.annotations += from.annotations;
  to.box.merge(from.box);
  to.found += from.found;
  to.loose += from.loose;
  to.found_doubt += from.found_doubt;
  to.missed_doubt += from.missed_doubt;
  to.missed += from.missed;
  to.spurious += from.spurious;
}

/// Columns of one annotator with other class indices: new_class[old] or -1, which the counts must not need.
void add_columns(const ConfusionColumns& from, std::size_t k, const std::vector<std::int32_t>& new_class, std::size_t J,
                 std::map<std::int32_t, std::vector<double>>& to) {
  for (std::size_t c = from.begin[k]; c < from.begin[k + 1]; ++c) {
    std::vector<double>& column = to[new_class[static_cast<std::size_t>(from.label[c])]];
    column.resize(J, 0.0);
    for (std::size_t j = 0; j < from.num_classes; ++j) {
      const double count = from.value[c * from.num_classes + j];
      if (count != 0) column[static_cast<std::size_t>(new_class[j])] += count;
    }
  }
}

void append_columns(const std::map<std::int32_t, std::vector<double>>& columns, ConfusionColumns& to) {
  for (const auto& [label, values] : columns) {
    to.label.push_back(label);
    to.value.insert(to.value.end(), values.begin(), values.end());
  }
  to.begin.push_back(to.label.size());
}

/// Whether any count, other than a rounding remainder, stands in the row or column of a class.
bool class_is_used(const ConfusionColumns& counts, std::size_t wanted) {
  for (std::size_t c = 0; c < counts.label.size(); ++c) {
    const double* column = &counts.value[c * counts.num_classes];
    if (static_cast<std::size_t>(counts.label[c]) == wanted) {
      if (std::any_of(column, column + counts.num_classes, [](double v) { return v > 0; })) return true;
    } else if (column[wanted] > 0) {
      return true;
    }
  }
  return false;
}

/// "a", "b", "c" and 12 more
std::string known_classes(const std::vector<ClassRecord>& classes) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t j = 0; j < std::min(classes.size(), kShown); ++j) {
    text += (text.empty() ? "" : ", ") + in_quotes(class_key(classes[j]));
  }
  if (classes.size() > kShown) text += " and " + std::to_string(classes.size() - kShown) + " more";
  return text.empty() ? "it has none" : text;
}

/// For every annotator of the crowd the one of that name, or nothing unless every name is there, and once.
std::vector<std::size_t> partners_by_name(const std::vector<AnnotatorEvidence>& known, const CrowdData& crowd) {
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t k = 0; k < known.size(); ++k) {
    const auto [at, is_new] = index.emplace(known[k].name, k);
    if (!is_new) at->second = AnnotatorPosteriors::npos;
  }
  std::vector<std::size_t> out;
  for (const AnnotatorRecord& annotator : crowd.annotators) {
    const auto found = index.find(annotator.name);
    if (annotator.name.empty() || found == index.end() || found->second == AnnotatorPosteriors::npos) return {};
    out.push_back(found->second);
    found->second = AnnotatorPosteriors::npos;
  }
  return out;
}

/// For every annotator of the crowd its index in the posteriors; npos: none.
std::vector<std::size_t> partners(const AnnotatorPosteriors& posteriors, const CrowdData& crowd, Alignment& how) {
  const auto index = index_by_id(posteriors.annotators);
  std::vector<std::size_t> out;
  for (const AnnotatorRecord& here : crowd.annotators) {
    const auto found = index.find(id_key(here.id));
    out.push_back(found == index.end() ? AnnotatorPosteriors::npos : found->second);
    if (found == index.end()) continue;
    const std::string& there = posteriors.annotators[found->second].name;
    if (here.name.empty() || there.empty() || here.name == there) continue;
    out = partners_by_name(posteriors.annotators, crowd);
    if (out.empty()) {
      throw DataError((posteriors.source.empty() ? "annotators" : posteriors.source) + ": /annotators/" +
                      std::to_string(found->second) + "/name: expected " + in_quotes(here.name) + ", who has the id " +
                      in_quotes(here.id.text) + " in this data set, found " + in_quotes(there) +
                      "; names do not match every annotator here either: use the same ids or the same names in both");
    }
    how.by_name = true;
    break;
  }
  how.matched = static_cast<std::size_t>(
      std::count_if(out.begin(), out.end(), [](std::size_t k) { return k != AnnotatorPosteriors::npos; }));
  return out;
}

/// The recall prior is fitted where at least this many people were shown at least one object, and is worth between so
/// many objects.
constexpr double kLeastPeople = 3, kLeastShown = 1, kLeastStrength = 2, kMostStrength = 30;

/// Pairs of those who are somebody's partner, numbered like these.
std::vector<Dependence::Pair> renumbered(const std::vector<Dependence::Pair>& pairs,
                                         const std::vector<std::size_t>& partner) {
  std::unordered_map<std::size_t, std::int32_t> number;
  for (std::size_t k = 0; k < partner.size(); ++k) {
    if (partner[k] != AnnotatorPosteriors::npos) number.emplace(partner[k], static_cast<std::int32_t>(k));
  }
  std::vector<Dependence::Pair> out;
  for (const Dependence::Pair& pair : pairs) {
    const auto first = number.find(static_cast<std::size_t>(pair.first));
    const auto second = number.find(static_cast<std::size_t>(pair.second));
    if (first == number.end() || second == number.end()) continue;
    out.push_back({std::min(first->second, second->second), std::max(first->second, second->second), pair.share});
  }
  std::sort(out.begin(), out.end(), [](const Dependence::Pair& a, const Dependence::Pair& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  });
  return out;
}

/// The recall prior is no setting: merged files get their own.
bool same_priors(const AnnotatorPosteriors& a, const AnnotatorPosteriors& b) {
  return a.profile == b.profile && a.box_prior.mean == b.box_prior.mean &&
         a.box_prior.strength == b.box_prior.strength && a.box_prior.upsilon == b.box_prior.upsilon &&
         a.box_prior.beta == b.box_prior.beta && a.box_prior.full_covariance == b.box_prior.full_covariance &&
         a.box_mean_limit == b.box_mean_limit && a.confusion_prior.diagonal == b.confusion_prior.diagonal &&
         a.confusion_prior.off_diagonal == b.confusion_prior.off_diagonal &&
         a.spurious_prior.shape == b.spurious_prior.shape && a.spurious_prior.rate == b.spurious_prior.rate &&
         a.accuracy_prior.a == b.accuracy_prior.a && a.accuracy_prior.b == b.accuracy_prior.b;
}

}  // namespace

BoxPosterior AnnotatorPosteriors::box(std::size_t k) const {
  BoxPosterior posterior = update_box_posterior(box_prior, annotators[k].box);
  for (std::size_t i = 0; i < 4; ++i) {
    if (box_mean_limit[i] > 0) posterior.mean[i] = std::clamp(posterior.mean[i], -box_mean_limit[i], box_mean_limit[i]);
  }
  return posterior;
}

double AnnotatorPosteriors::alpha(std::size_t k, std::size_t true_class, std::size_t given_class) const {
  const double prior = true_class == given_class ? confusion_prior.diagonal : confusion_prior.off_diagonal;
  return prior + confusion.at(k, true_class, static_cast<std::int32_t>(given_class), 0.0);
}

double AnnotatorPosteriors::accuracy(std::size_t k) const {
  const std::size_t J = classes.size();
  if (J == 1) return 1;
  const double prior_row = confusion_prior.diagonal + static_cast<double>(J - 1) * confusion_prior.off_diagonal;
  std::vector<double> met(J, 0.0), right(J, 0.0);
  for (std::size_t c = confusion.begin[k]; c < confusion.begin[k + 1]; ++c) {
    for (std::size_t j = 0; j < J; ++j) met[j] += confusion.value[c * J + j];
    const auto given = static_cast<std::size_t>(confusion.label[c]);
    right[given] = confusion.value[c * J + given];
  }
  double total = 0, expected = 0;
  if (accuracy_prior.a > 0) {
    for (std::size_t j = 0; j < J; ++j) total += met[j], expected += right[j];
    return (accuracy_prior.a + expected) / (accuracy_prior.a + accuracy_prior.b + total);
  }
  for (std::size_t j = 0; j < J; ++j) {
    total += met[j];
    expected += met[j] * (confusion_prior.diagonal + right[j]) / (prior_row + met[j]);
  }
  return total > 0 ? expected / total : confusion_prior.diagonal / prior_row;
}

double AnnotatorPosteriors::mean_recall(std::size_t k) const {
  const AnnotatorEvidence& e = annotators[k];
  return (recall_prior.a + e.found - e.loose) / (recall_prior.a + recall_prior.b + e.found + e.missed);
}

double AnnotatorPosteriors::drawn_share(std::size_t k) const {
  return (1 + annotators[k].found) / (2 + annotators[k].found + annotators[k].missed);
}

double AnnotatorPosteriors::mean_spurious_per_image(std::size_t k) const {
  return (spurious_prior.shape + annotators[k].spurious) / (spurious_prior.rate + annotators[k].judged);
}

std::size_t AnnotatorPosteriors::find(const ExternalId& id) const {
  for (std::size_t k = 0; k < annotators.size(); ++k) {
    if (annotators[k].id.is_integer == id.is_integer && annotators[k].id.text == id.text) return k;
  }
  return npos;
}

AnnotatorPosteriors merge(const AnnotatorPosteriors& a, const AnnotatorPosteriors& b) {
  const auto named = [](const AnnotatorPosteriors& p) { return p.source.empty() ? "annotator posteriors" : p.source; };
  if (a.profile != b.profile) {
    throw DataError(named(b) + ": /profile: expected \"" + a.profile + "\" as in " + named(a) + ", found \"" +
                    b.profile + "\"; profiles measure box errors differently, so their files cannot be merged");
  }
  if (!same_priors(a, b)) {
    throw DataError(named(b) + ": /priors: expected the priors of " + named(a) +
                    ", found others; files can be merged when both were learnt with the same settings");
  }
  AnnotatorPosteriors result = a;
  if (!b.source.empty()) result.source += (a.source.empty() ? "" : " and ") + b.source;
  auto class_index = index_by_name(a.classes);
  std::vector<std::int32_t> keep(a.classes.size()), new_class;
  for (std::size_t j = 0; j < keep.size(); ++j) keep[j] = static_cast<std::int32_t>(j);
  for (const ClassRecord& c : b.classes) {
    const auto [found, added] = class_index.emplace(class_key(c), static_cast<std::int32_t>(result.classes.size()));
    if (added) result.classes.push_back(c);
    new_class.push_back(found->second);
  }
  auto index = index_by_id(a.annotators);
  std::vector<std::vector<std::size_t>> members(a.annotators.size());  // annotators of b, by their index in the result
  for (std::size_t k = 0; k < b.annotators.size(); ++k) {
    const auto [found, added] = index.emplace(id_key(b.annotators[k].id), result.annotators.size());
    if (added) {
      result.annotators.push_back(b.annotators[k]);
      members.emplace_back();
    } else {
      add_evidence(result.annotators[found->second], b.annotators[k]);
    }
    members[found->second].push_back(k);
  }
  const std::size_t J = result.classes.size();
  result.confusion = {};
  result.confusion.num_classes = J;
  result.confusion.begin.assign(1, 0);
  for (std::size_t k = 0; k < result.annotators.size(); ++k) {
    std::map<std::int32_t, std::vector<double>> columns;
    if (k < a.annotators.size()) add_columns(a.confusion, k, keep, J, columns);
    for (const std::size_t other : members[k]) add_columns(b.confusion, other, new_class, J, columns);
    append_columns(columns, result.confusion);
  }
  result.alike.clear();
  if (result.tells_recall()) fit_recall_prior(result);
  return result;
}

void fit_recall_prior(AnnotatorPosteriors& p) {
  p.recall_prior = {1, 1};
  double people = 0, objects = 0, squares = 0, found = 0;
  for (const AnnotatorEvidence& e : p.annotators) {
    const double shown = e.found + e.missed;
    if (shown < kLeastShown) continue;
    people += 1;
    objects += shown;
    squares += shown * shown;
    found += e.found - e.loose;
  }
  if (people < kLeastPeople) return;
  const double mean = std::clamp(found / objects, 0.02, 0.98), chance = mean * (1 - mean);
  double spread = 0;
  for (const AnnotatorEvidence& e : p.annotators) {
    const double shown = e.found + e.missed;
    if (shown < kLeastShown) continue;
    const double error = (e.found - e.loose) / shown - mean;
    spread += shown * error * error;
  }
  const double variance = (spread - (people - 1) * chance) / (objects - squares / objects);
  const double strength =
      variance > 0 ? std::clamp(chance / variance - 1, kLeastStrength, kMostStrength) : kMostStrength;
  p.recall_prior = {mean * strength, (1 - mean) * strength};
}

void set_figure_priors(AnnotatorPosteriors& p) {
  p.recall_prior = {1, 1};
  p.spurious_prior = {0.5, 1};
  p.accuracy_prior = {1, 1};
}

void require_profile(const AnnotatorPosteriors& prior, const std::string& profile) {
  if (prior.profile == profile) return;
  throw DataError((prior.source.empty() ? "the prior" : prior.source) + ": /profile: expected \"" + profile +
                  "\", the profile of this run, found \"" + prior.profile +
                  "\"; profiles measure box errors differently: use the same one for both");
}

AnnotatorPosteriors aligned_with(const AnnotatorPosteriors& posteriors, const CrowdData& crowd, Alignment* how) {
  AnnotatorPosteriors result = posteriors;
  result.classes = crowd.classes;
  const std::size_t J = crowd.classes.size();
  const auto class_index = index_by_name(crowd.classes);
  std::vector<std::int32_t> new_class;
  for (std::size_t j = 0; j < posteriors.classes.size(); ++j) {
    const auto found = class_index.find(class_key(posteriors.classes[j]));
    new_class.push_back(found == class_index.end() ? -1 : found->second);
    if (new_class.back() < 0 && class_is_used(posteriors.confusion, j)) {
      throw DataError((posteriors.source.empty() ? "annotators" : posteriors.source) + ": /classes/" +
                      std::to_string(j) + ": expected a class of this data set (" + known_classes(crowd.classes) +
                      "), found " + in_quotes(class_key(posteriors.classes[j])) +
                      "; what was learnt about annotators applies only to data sets with the same class names");
    }
  }
  Alignment alignment;
  const auto partner = partners(posteriors, crowd, alignment);
  if (how != nullptr) *how = alignment;
  result.annotators.assign(crowd.annotators.size(), {});
  result.confusion = {};
  result.confusion.num_classes = J;
  result.confusion.begin.assign(1, 0);
  for (std::size_t k = 0; k < crowd.annotators.size(); ++k) {
    std::map<std::int32_t, std::vector<double>> columns;
    if (partner[k] != AnnotatorPosteriors::npos) {
      result.annotators[k] = posteriors.annotators[partner[k]];
      add_columns(posteriors.confusion, partner[k], new_class, J, columns);
      columns.erase(-1);  // a class this data set does not have; it holds no counts
    }
    result.annotators[k].id = crowd.annotators[k].id;
    result.annotators[k].name = crowd.annotators[k].name;
    append_columns(columns, result.confusion);
  }
  result.alike = renumbered(posteriors.alike, partner);
  return result;
}

}  // namespace bdc
