// The table of learners. A new one is a file below this folder that defines `LearnerEntry <name>_learner()`, and one
// line here; that makes it a method of `aggregate` and a training hook.
#include "bdc/learn/learners.h"

#include <algorithm>
#include <stdexcept>

#include "bdc/base/nearest.h"
#include "bdc/base/text.h"

#define BDC_LEARNERS(X) \
  X(na)                 \
  X(mv)                 \
  X(wbf)                \
  X(earl)               \
  X(nms)                \
  X(soft_nms)           \
  X(nmw)                \
  X(laem)               \
  X(em_wbf)             \
  X(absence_aware)      \
  X(reference)          \
  X(paper)              \
  X(crowd_rcnn)

namespace bdc {

#define BDC_DECLARE(name) LearnerEntry name##_learner();
BDC_LEARNERS(BDC_DECLARE)
#undef BDC_DECLARE

const std::vector<LearnerEntry>& learners() {
#define BDC_ENTRY(name) name##_learner(),
  static const std::vector<LearnerEntry> table{BDC_LEARNERS(BDC_ENTRY)};
#undef BDC_ENTRY
  return table;
}

namespace {

/// Methods with several learners.
const std::map<std::string, std::string>& family_descriptions() {
  static const std::map<std::string, std::string> table{
      {"bdc", "Bayesian detector combination: learns how each annotator errs"}};
  return table;
}

bool has(const std::vector<OptionSpec>& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(), [&](const OptionSpec& o) { return o.name == name; });
}

void add_missing(const std::vector<OptionSpec>& from, std::vector<OptionSpec>& to) {
  for (const OptionSpec& option : from) {
    if (!has(to, option.name)) to.push_back(option);
  }
}

/// `profile`, and whatever one of the learners has, as text: the chosen learner checks it.
std::vector<OptionSpec> family_options(const std::vector<const LearnerEntry*>& members) {
  std::vector<OptionSpec> out{string_option("profile", members.front()->info.name, "the equations")};
  for (const LearnerEntry* member : members) {
    out.front().choices.push_back(member->info.name);
    for (const OptionSpec& option : member->info.options) {
      if (!has(out, option.name)) out.push_back(string_option(option.name, "", option.help));
    }
  }
  return out;
}

std::vector<MethodInfo> make_methods() {
  std::vector<MethodInfo> out;
  for (const LearnerEntry& entry : learners()) {
    const LearnerInfo& info = entry.info;
    const std::string& name = info.profile_of.empty() ? info.name : info.profile_of;
    const auto known = std::find_if(out.begin(), out.end(), [&](const MethodInfo& m) { return m.name == name; });
    if (known != out.end()) {
      known->learners.push_back(&entry);
    } else {
      out.push_back({name, info.description, info.options, info.compared_by, {&entry}});
    }
  }
  for (MethodInfo& method : out) {
    if (method.learners.front()->info.profile_of.empty()) continue;
    method.description = family_descriptions().at(method.name);
    method.options = family_options(method.learners);
    method.compared_by = "profile";
  }
  return out;
}

std::unique_ptr<Learner> make_from_text(const LearnerEntry& entry, const std::map<std::string, std::string>& texts,
                                        const std::string& where) {
  std::map<std::string, OptionValue> values = parse_options(entry.info.options, texts, where).values();
  for (const OptionSpec& option : entry.info.training_options) values.emplace(option.name, option.default_value);
  return entry.create(Options(std::move(values)));
}

}  // namespace

const LearnerEntry* find_learner(const std::string& name) {
  for (const LearnerEntry& entry : learners()) {
    if (entry.info.name == name) return &entry;
  }
  return nullptr;
}

const LearnerTraits& learner_traits(const std::string& name) {
  static const LearnerTraits nothing;
  const LearnerEntry* entry = find_learner(name);
  return entry != nullptr ? entry->info.traits : nothing;
}

const std::vector<MethodInfo>& methods() {
  static const std::vector<MethodInfo> table = make_methods();
  return table;
}

std::unique_ptr<Learner> make_learner(const std::string& name, const std::map<std::string, std::string>& options) {
  if (const LearnerEntry* entry = find_learner(name)) return make_from_text(*entry, options, name);
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) {
    names.push_back(method.name);
    if (method.name != name) continue;
    const Options values = parse_options(method.options, options, name);
    std::map<std::string, std::string> own = options;
    own.erase("profile");
    return make_from_text(*find_learner(values.get_string("profile")), own, name);
  }
  throw std::invalid_argument("no method is called '" + printable(name) + "'" + did_you_mean(name, names));
}

std::unique_ptr<Learner> make_learner_with(const std::string& name, const std::map<std::string, OptionValue>& values) {
  const LearnerEntry* entry = find_learner(name);
  if (entry == nullptr) throw std::invalid_argument("no learner is called '" + printable(name) + "'");
  std::vector<OptionSpec> schema = entry->info.options;
  add_missing(entry->info.training_options, schema);
  return entry->create(check_options(schema, values, name));
}

}  // namespace bdc
