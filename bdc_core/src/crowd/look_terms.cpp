#include "bdc/crowd/look_terms.h"

#include <fstream>
#include <map>

#include "base/csv.h"
#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/nearest.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Finds records by id or, where that is no id, by a name that only one of them has.
class Finder {
 public:
  explicit Finder(std::string what) : what_(std::move(what)) {}

  void add(const std::string& id, const std::string& name) {
    const std::size_t at = names_.size();
    ids_.emplace(id, at);
    if (!name.empty()) {
      const auto [known, fresh] = by_name_.emplace(name, at);
      if (!fresh) known->second = kNone;
    }
    names_.push_back(name.empty() ? id : name);
  }

  [[nodiscard]] std::size_t find(const std::string& text, const CsvReader& csv) const {
    const auto id = ids_.find(text);
    const auto name = by_name_.find(text);
    if (id != ids_.end()) {
      if (name != by_name_.end() && name->second != id->second) {
        csv.fail(in_quotes(text) + " is the id of one " + what_ + " and the name of another; use the other's id");
      }
      return id->second;
    }
    if (name == by_name_.end()) {
      csv.fail("the labels have no " + what_ + " " + in_quotes(text) +
               (names_.size() <= 1000 ? did_you_mean(text, names_) : std::string()));
    }
    if (name->second == kNone) csv.fail("several " + what_ + "s are called " + in_quotes(text) + "; use the id");
    return name->second;
  }

 private:
  std::string what_;
  std::map<std::string, std::size_t> ids_, by_name_;
  std::vector<std::string> names_;
};

Finder annotators_of(const CrowdData& crowd) {
  Finder out("annotator");
  for (const AnnotatorRecord& a : crowd.annotators) out.add(a.id.text, a.name);
  return out;
}

/// A CSV with a heading of known columns.
class Sheet {
 public:
  Sheet(std::istream& in, const std::string& file, const std::vector<std::string>& known) : csv_(in, file) {
    csv_.detect_separator();
    if (!csv_.next_row()) csv_.fail("expected a heading with " + join(known) + ", found an empty file");
    for (const std::string& field : csv_.fields()) {
      const std::string title = lower_case(trimmed(field));
      bool found = false;
      for (const std::string& name : known) found = found || name == title;
      if (!found) csv_.fail("unknown column " + in_quotes(field) + "; known: " + join(known));
      if (!column_.emplace(title, column_.size()).second) csv_.fail("the column " + title + " stands there twice");
    }
  }
  [[nodiscard]] bool next() {
    if (!csv_.next_row()) return false;
    if (csv_.fields().size() != column_.size()) {
      csv_.fail("expected " + counted(column_.size(), "field") + ", found " + std::to_string(csv_.fields().size()));
    }
    return true;
  }
  [[nodiscard]] bool has(const std::string& title) const { return column_.count(title) > 0; }
  void need(const std::string& title) const {
    if (!has(title)) csv_.fail("expected the column " + title + ", found none");
  }
  [[nodiscard]] std::string text(const std::string& title) const {
    return std::string(trimmed(csv_.fields()[column_.at(title)]));
  }
  [[nodiscard]] const CsvReader& csv() const { return csv_; }

 private:
  CsvReader csv_;
  std::map<std::string, std::size_t> column_;
};

}  // namespace

std::size_t read_look_costs(const std::string& file, const CrowdData& crowd, LookTerms& terms) {
  std::ifstream in = open_input(file);
  return read_look_costs(in, file, crowd, terms);
}

std::size_t read_look_costs(std::istream& in, const std::string& name, const CrowdData& crowd, LookTerms& terms) {
  const Finder people = annotators_of(crowd);
  Sheet sheet(in, name, {"annotator", "cost", "looks"});
  sheet.need("annotator");
  if (!sheet.has("cost") && !sheet.has("looks")) sheet.csv().fail("expected a column cost or looks, found neither");
  const std::size_t K = crowd.annotators.size();
  terms.cost.assign(K, 1.0);
  terms.looks.assign(K, -1.0);
  std::vector<char> listed(K, 0);
  std::size_t rows = 0;
  while (sheet.next()) {
    const std::size_t k = people.find(sheet.text("annotator"), sheet.csv());
    if (listed[k] != 0) sheet.csv().fail("this annotator is listed twice");
    listed[k] = 1;
    ++rows;
    if (const std::string text = sheet.has("cost") ? sheet.text("cost") : ""; !text.empty()) {
      const auto cost = parse_real(text);
      if (!cost || !(*cost >= 1e-6) || !(*cost <= 1e9)) {
        sheet.csv().fail("cost: expected a number above 0, found " + in_quotes(text));
      }
      terms.cost[k] = *cost;
    }
    if (const std::string text = sheet.has("looks") ? sheet.text("looks") : ""; !text.empty()) {
      const auto looks = parse_integer(text);
      if (!looks || *looks < 0) {
        sheet.csv().fail("looks: expected a whole number from 0 (no time), found " + in_quotes(text));
      }
      terms.looks[k] = static_cast<double>(*looks);
    }
  }
  return rows;
}

std::size_t read_exclusions(const std::string& file, const CrowdData& crowd, LookTerms& terms) {
  std::ifstream in = open_input(file);
  return read_exclusions(in, file, crowd, terms);
}

std::size_t read_exclusions(std::istream& in, const std::string& name, const CrowdData& crowd, LookTerms& terms) {
  const Finder people = annotators_of(crowd);
  Finder images("image");
  for (const ImageRecord& image : crowd.images) images.add(image.id.text, image.file);
  Sheet sheet(in, name, {"annotator", "image"});
  sheet.need("annotator");
  sheet.need("image");
  std::size_t rows = 0;
  for (; sheet.next(); ++rows) {
    const std::size_t k = people.find(sheet.text("annotator"), sheet.csv());
    const std::size_t i = images.find(sheet.text("image"), sheet.csv());
    terms.excluded.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(k)});
  }
  return rows;
}

}  // namespace bdc
