#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "bdc/learn/annotator_figures.h"
#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/learners.h"

namespace bdc {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "bdc_annotators";
constexpr int kVersion = 2;  // 1 had no intervals, no doubt and no box that was found in the wrong place
constexpr double kSmallestCount = 1e-6;
constexpr double kLargestNumber = 1e15;  // sums and squares of such numbers stay finite, and so do sums of many files
constexpr std::size_t kMostClasses = 100000;
constexpr std::size_t kMostValues = 500000000;  // columns x classes: 4 GB

json id_to_json(const ExternalId& id) {
  if (!id.is_integer) return id.text;
  try {
    return std::stoll(id.text);
  } catch (const std::exception&) {
    return json::parse(id.text);  // an integer beyond 64 bits, as the reader took it
  }
}

/// A value for messages; never deeper than its first level, whatever a hostile file nests.
std::string shown(const json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return value.empty() ? "an empty array" : "an array of " + std::to_string(value.size());
  return value.dump();
}

/// A place in the file, for messages.
class Place {
 public:
  Place(const std::string& source, const json& value, std::string path)
      : source_(source), value_(value), path_(std::move(path)) {}

  [[noreturn]] void fail(const std::string& expected) const {
    throw DataError(source_ + ": " + path_ + ": expected " + expected + ", found " + shown(value_));
  }
  [[nodiscard]] Place member(const std::string& name) const {
    if (!value_.is_object()) fail("an object");
    const auto found = value_.find(name);
    if (found == value_.end())
      throw DataError(source_ + ": " + (path_.empty() ? "" : path_ + ": ") + "expected the member \"" + name +
                      "\", found none");
    return {source_, *found, path_ + "/" + name};
  }
  [[nodiscard]] bool has(const std::string& name) const { return value_.is_object() && value_.contains(name); }
  [[nodiscard]] std::size_t size() const {
    if (!value_.is_array()) fail("an array");
    return value_.size();
  }
  [[nodiscard]] bool is_triple() const { return value_.is_array() && value_.size() == 3; }
  [[nodiscard]] Place element(std::size_t n) const { return {source_, value_[n], path_ + "/" + std::to_string(n)}; }
  [[nodiscard]] double number(double low) const {
    if (!value_.is_number()) fail("a number");
    const double v = value_.get<double>();
    if (!(v >= low && v <= kLargestNumber)) fail("a number from " + limit_text(low) + " to 1e15");
    return v;
  }
  [[nodiscard]] double any_number() const { return number(-kLargestNumber); }
  [[nodiscard]] double positive() const {
    const double v = number(0);
    if (!(v > 0)) fail("a positive number");
    return v;
  }
  [[nodiscard]] bool boolean() const {
    if (!value_.is_boolean()) fail("true or false");
    return value_.get<bool>();
  }
  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) fail("a string");
    return value_.get<std::string>();
  }
  [[nodiscard]] std::size_t index(std::size_t size) const {
    if (!value_.is_number_unsigned() || value_.get<std::uint64_t>() >= size) {
      fail("an index, 0 to " + std::to_string(size) + " (exclusive)");
    }
    return value_.get<std::size_t>();
  }
  [[nodiscard]] ExternalId id() const {
    if (value_.is_string()) return {value_.get<std::string>(), false};
    if (!value_.is_number_integer()) fail("an integer or a string");
    return {value_.dump(), true};
  }
  template <std::size_t N>
  [[nodiscard]] std::array<double, N> numbers() const {
    if (!value_.is_array() || value_.size() != N) fail("an array of " + std::to_string(N) + " numbers");
    std::array<double, N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = element(i).any_number();
    return out;
  }

 private:
  static std::string limit_text(double low) { return low < 0 ? "-1e15" : "0"; }

  const std::string& source_;
  const json& value_;
  std::string path_;
};

json figure_json(const Figure& f) {
  return {{"mean", f.determined ? json(f.mean) : json(nullptr)}, {"low", f.low}, {"high", f.high}};
}

json figures_json(const std::array<Figure, 4>& figures) {
  json out = json::array();
  for (const Figure& f : figures) out.push_back(figure_json(f));
  return out;
}

/// For readers who want figures, not sums; never read back.
json summary_of(const AnnotatorPosteriors& p, std::size_t k) {
  json out = {{"box_mean", figures_json(bias_figures(p, k))},
              {"box_std", figures_json(noise_figures(p, k))},
              {"quality", figure_json(quality_figure(p, k))}};
  if (p.tells_classes()) out["accuracy"] = figure_json(accuracy_figure(p, k));
  if (p.tells_recall()) {
    out["recall"] = figure_json(recall_figure(p, k));
    out["spurious_per_image"] = figure_json(spurious_figure(p, k));
  }
  return out;
}

/// One annotator with confusion entries as they stand in the file; class indices are checked once classes are known.
struct RawAnnotator {
  AnnotatorEvidence evidence;
  std::vector<std::array<std::size_t, 2>> cells;
  std::vector<double> counts;
};

RawAnnotator read_annotator(const Place& place) {
  RawAnnotator raw;
  AnnotatorEvidence& e = raw.evidence;
  e.id = place.member("id").id();
  if (place.has("name")) e.name = place.member("name").text();
  e.images = place.member("images").number(0);
  e.annotations = place.member("annotations").number(0);
  const Place box = place.member("box");
  e.box.count = box.member("count").number(0);
  e.box.sum = box.member("deviation_sum").numbers<4>();
  e.box.cross = box.member("deviation_products").numbers<10>();
  for (std::size_t i = 0; i < 4; ++i) {
    const double square = e.box.cross[packed(i, i)], sum = e.box.sum[i];
    // sum^2 <= count * sum of squares, or beta would not be positive
    if (square < 0 || sum * sum > e.box.count * square * (1 + 1e-9) + 1e-12) {
      box.member("deviation_products").fail("sums of squares that fit count and deviation_sum");
    }
  }
  const Place confusion = place.member("confusion");
  for (std::size_t n = 0; n < confusion.size(); ++n) {
    const Place cell = confusion.element(n);
    if (!cell.is_triple()) cell.fail("[true class, given class, count]");
    raw.cells.push_back({cell.element(0).index(kMostClasses), cell.element(1).index(kMostClasses)});
    raw.counts.push_back(cell.element(2).number(0));
  }
  if (place.has("existence")) {
    const Place existence = place.member("existence");
    e.found = existence.member("found").number(0);
    e.missed = existence.member("missed").number(0);
    e.spurious = existence.member("spurious").number(0);
    e.judged = existence.has("images") ? existence.member("images").number(0) : e.images;
    if (existence.has("loose")) {
      e.loose = existence.member("loose").number(0);
      if (e.loose > e.found * (1 + 1e-9)) existence.member("loose").fail("at most the number of objects found");
      e.found_doubt = existence.member("found_doubt").number(0);
      e.missed_doubt = existence.member("missed_doubt").number(0);
    }
  }
  return raw;
}

void read_priors(const Place& root, AnnotatorPosteriors& result) {
  const Place priors = root.member("priors"), box = priors.member("box"), confusion = priors.member("confusion");
  result.box_prior.mean = box.member("mean").numbers<4>();
  result.box_prior.strength = box.member("strength").positive();
  result.box_prior.upsilon = box.member("upsilon").positive();
  result.box_prior.beta = box.member("beta").positive();
  result.box_prior.full_covariance = box.member("full_covariance").boolean();
  result.box_mean_limit = box.member("mean_limit").numbers<4>();
  result.confusion_prior.diagonal = confusion.member("diagonal").positive();
  result.confusion_prior.off_diagonal = confusion.member("off_diagonal").positive();
  if (result.tells_recall()) {
    result.recall_prior = {priors.member("recall").member("a").positive(),
                           priors.member("recall").member("b").positive()};
    result.spurious_prior = {priors.member("spurious").member("shape").positive(),
                             priors.member("spurious").member("rate").positive()};
  }
  if (priors.has("accuracy")) {
    result.accuracy_prior = {priors.member("accuracy").member("a").positive(),
                             priors.member("accuracy").member("b").positive()};
  }
}

/// [[annotator, annotator, share of errors in common]], annotators by their place in the list.
std::vector<Dependence::Pair> read_alike(const Place& list, std::size_t annotators) {
  std::vector<Dependence::Pair> out;
  for (std::size_t n = 0; n < list.size(); ++n) {
    const Place pair = list.element(n);
    if (!pair.is_triple()) pair.fail("[annotator, annotator, share]");
    const std::size_t first = pair.element(0).index(annotators), second = pair.element(1).index(annotators);
    const double share = pair.element(2).positive();
    if (first >= second || share > 1) pair.fail("two annotators in the order of the list and a share of at most 1");
    out.push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(second), share});
  }
  return out;
}

/// Whoever learns annotators writes such files.
std::string known_profile(const Place& place) {
  std::vector<std::string> known;
  for (const LearnerEntry& learner : learners()) {
    if (!learner.info.traits.learns_annotators) continue;
    if (place.text() == learner.info.name) return learner.info.name;
    known.push_back(learner.info.name);
  }
  place.fail("one of " + join(known));
}

/// The file but for its annotators. They are taken as they are parsed and left out of the tree: memory follows what is
/// kept. What is wrong with the first bad one goes to `wrong`: first it must be known whether this is such a file.
json parse_root(std::istream& in, const std::string& source, std::vector<RawAnnotator>& raw, std::string& wrong) {
  std::set<std::string> keys;
  std::string key;
  const auto take = [&](int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    if (event == Event::key && depth == 1) {
      key = value.get<std::string>();
      if (!keys.insert(key).second) {
        throw DataError(source + ": expected the member " + in_quotes(key) + " once, found it twice");
      }
    }
    const bool is_element = depth == 2 && key == "annotators" &&
                            (event == Event::object_end || event == Event::array_end || event == Event::value);
    if (!is_element) return true;
    if (!wrong.empty()) return false;
    try {
      const Place place(source, value, "/annotators/" + std::to_string(raw.size()));
      if (event != Event::object_end) place.fail("an object");
      raw.push_back(read_annotator(place));
    } catch (const DataError& error) {
      wrong = error.what();
    }
    return false;
  };
  if (in.peek() == std::istream::traits_type::eof()) {
    throw DataError(source + ": expected a file that `aggregate --annotators` wrote, found an empty file");
  }
  try {
    return json::parse(in, take);
  } catch (const json::out_of_range& error) {  // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
    const std::string what = error.what();
    throw DataError(source + ": " + what.substr(std::min(what.size(), what.find("] ") + 2)));
  } catch (const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string what = error.what();
    const std::size_t from = what.find("line ");
    throw DataError(
        source + ": expected a file that `aggregate --annotators` wrote, found no JSON" +
        (from == std::string::npos ? "" : " (" + what.substr(from, what.find_first_of(",:", from) - from) + ")"));
  }
}

}  // namespace

AnnotatorPosteriors read_annotator_posteriors(const std::string& file) {
  std::ifstream in = open_input(file);
  return read_annotator_posteriors(in, file);
}

void write_annotator_posteriors(std::ostream& out, const AnnotatorPosteriors& p) {
  json priors = {
      {"box",
       {{"mean", p.box_prior.mean},
        {"strength", p.box_prior.strength},
        {"upsilon", p.box_prior.upsilon},
        {"beta", p.box_prior.beta},
        {"full_covariance", p.box_prior.full_covariance},
        {"mean_limit", p.box_mean_limit}}},
      {"confusion", {{"diagonal", p.confusion_prior.diagonal}, {"off_diagonal", p.confusion_prior.off_diagonal}}}};
  if (p.tells_recall()) {
    priors["recall"] = {{"a", p.recall_prior.a}, {"b", p.recall_prior.b}};
    priors["spurious"] = {{"shape", p.spurious_prior.shape}, {"rate", p.spurious_prior.rate}};
  }
  if (p.accuracy_prior.a > 0) priors["accuracy"] = {{"a", p.accuracy_prior.a}, {"b", p.accuracy_prior.b}};
  json classes = json::array();
  for (const ClassRecord& c : p.classes) classes.push_back({{"id", id_to_json(c.id)}, {"name", c.name}});
  const auto text = [](const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); };
  out << "{\n\"format\": \"" << kFormat << "\",\n\"version\": " << kVersion << ",\n\"profile\": " << text(p.profile)
      << ",\n\"priors\": " << text(priors) << ",\n\"classes\": " << text(classes);
  if (!p.alike.empty()) {
    json alike = json::array();
    for (const Dependence::Pair& pair : p.alike) alike.push_back({pair.first, pair.second, pair.share});
    out << ",\n\"alike\": " << text(alike);
  }
  out << ",\n\"annotators\": [";
  const std::size_t J = p.classes.size();
  for (std::size_t k = 0; k < p.annotators.size(); ++k) {
    const AnnotatorEvidence& e = p.annotators[k];
    json confusion = json::array();
    for (std::size_t c = p.confusion.begin[k]; c < p.confusion.begin[k + 1]; ++c) {
      for (std::size_t j = 0; j < J; ++j) {
        const double count = p.confusion.value[c * J + j];
        if (count >= kSmallestCount) confusion.push_back({j, p.confusion.label[c], count});
      }
    }
    json summary = summary_of(p, k);
    json annotator = {
        {"id", id_to_json(e.id)},
        {"name", e.name},
        {"images", e.images},
        {"annotations", e.annotations},
        {"box", {{"count", e.box.count}, {"deviation_sum", e.box.sum}, {"deviation_products", e.box.cross}}},
        {"confusion", std::move(confusion)}};
    if (p.tells_recall()) {
      annotator["existence"] = {{"images", e.judged},
                                {"found", e.found},
                                {"missed", e.missed},
                                {"spurious", e.spurious},
                                {"loose", e.loose},
                                {"found_doubt", e.found_doubt},
                                {"missed_doubt", e.missed_doubt}};
    }
    annotator["summary"] = std::move(summary);
    out << (k == 0 ? "\n" : ",\n") << text(annotator);
  }
  out << "\n]\n}\n";
}

AnnotatorPosteriors read_annotator_posteriors(std::istream& in, const std::string& source) {
  std::vector<RawAnnotator> raw;
  std::string wrong;
  const json root = parse_root(in, source, raw, wrong);
  const Place place(source, root, "");
  if (!root.is_object() || !root.contains("format") || root["format"] != kFormat) {
    throw DataError(source + ": /format: expected \"" + kFormat + "\", found " +
                    (!root.is_object()          ? shown(root) + " instead of an object"
                     : !root.contains("format") ? "no such member"
                                                : shown(root["format"])) +
                    "; expected a file that `aggregate --annotators` wrote");
  }
  const bool is_old = root.contains("version") && root["version"] == 1;
  if (root.contains("version") && root["version"] != kVersion && !is_old) {
    place.member("version").fail("1 or 2, the versions that this program reads");
  }
  static_cast<void>(place.member("version"));
  if (!wrong.empty()) throw DataError(wrong);
  static_cast<void>(place.member("annotators").size());

  AnnotatorPosteriors result;
  result.source = source;
  result.profile = known_profile(place.member("profile"));
  read_priors(place, result);
  if (is_old && result.tells_recall()) set_figure_priors(result);
  const Place classes = place.member("classes");
  if (classes.size() > kMostClasses) classes.fail("at most " + std::to_string(kMostClasses) + " classes");
  for (std::size_t j = 0; j < classes.size(); ++j) {
    result.classes.push_back({classes.element(j).member("id").id(), classes.element(j).member("name").text()});
  }
  const std::size_t J = result.classes.size();
  result.confusion.num_classes = J;
  result.confusion.begin.assign(1, 0);
  std::set<std::pair<bool, std::string>> ids;
  for (std::size_t k = 0; k < raw.size(); ++k) {
    const std::string where = source + ": /annotators/" + std::to_string(k);
    if (!ids.emplace(raw[k].evidence.id.is_integer, raw[k].evidence.id.text).second) {
      throw DataError(where + "/id: expected an id used once, found " + in_quotes(raw[k].evidence.id.text) + " again");
    }
    std::map<std::size_t, std::vector<double>> columns;
    for (std::size_t n = 0; n < raw[k].cells.size(); ++n) {
      const auto [truth, given] = raw[k].cells[n];
      if (truth >= J || given >= J) {
        throw DataError(where + "/confusion/" + std::to_string(n) + ": expected indices into the " + std::to_string(J) +
                        " classes, found [" + std::to_string(truth) + ", " + std::to_string(given) + "]");
      }
      std::vector<double>& column = columns[given];
      if (column.empty() && result.confusion.value.size() + columns.size() * J > kMostValues) {
        throw DataError(where + "/confusion: expected fewer than " + std::to_string(kMostValues) +
                        " numbers in all confusion matrices");
      }
      column.resize(J, -1.0);
      if (column[truth] >= 0) {
        throw DataError(where + "/confusion/" + std::to_string(n) + ": expected each pair of classes once, found [" +
                        std::to_string(truth) + ", " + std::to_string(given) + "] again");
      }
      column[truth] = raw[k].counts[n];
    }
    for (auto& [given, values] : columns) {
      for (double& value : values) value = std::max(value, 0.0);
      result.confusion.label.push_back(static_cast<std::int32_t>(given));
      result.confusion.value.insert(result.confusion.value.end(), values.begin(), values.end());
    }
    result.confusion.begin.push_back(result.confusion.label.size());
    result.annotators.push_back(std::move(raw[k].evidence));
    raw[k] = {};
  }
  if (place.has("alike")) result.alike = read_alike(place.member("alike"), result.annotators.size());
  return result;
}

}  // namespace bdc
