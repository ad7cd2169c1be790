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

/// The option that chooses one of a method's learners.
const char* const kProfile = "profile";

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
  std::vector<OptionSpec> out{string_option(kProfile, members.front()->info.name, "which model of the annotators")};
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
    method.compared_by = kProfile;
  }
  return out;
}

/// Throws for an option that the chosen profile does not have: it may be another one's.
void require_own_options(const LearnerInfo& info, const std::map<std::string, std::string>& given,
                         const std::string& where) {
  std::vector<OptionSpec> schema{string_option(kProfile, info.name, "")};
  add_missing(info.options, schema);
  for (const auto& [name, value] : given) {
    if (has(schema, name)) continue;
    std::vector<std::string> owners;
    for (const LearnerEntry& other : learners()) {
      if (other.info.profile_of == info.profile_of && has(other.info.options, name)) owners.push_back(other.info.name);
    }
    if (owners.empty()) (void)find_option(schema, name, where);  // throws
    std::vector<std::string> own;
    for (const OptionSpec& option : info.options) own.push_back(option.name);
    throw std::invalid_argument(place_in(where, name) + ": belongs to profile " + join(owners, " and ") + "; " +
                                info.name + " has " + (own.empty() ? "no options" : join(own)));
  }
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

const LearnerEntry& chosen_learner(const std::string& name, const std::map<std::string, std::string>& options,
                                   const std::string& where) {
  if (const LearnerEntry* entry = find_learner(name)) return *entry;
  std::vector<std::string> names;
  for (const MethodInfo& method : methods()) {
    names.push_back(method.name);
    if (method.name != name) continue;
    std::map<std::string, std::string> profile;
    if (const auto given = options.find(kProfile); given != options.end()) profile.insert(*given);
    const std::vector<OptionSpec> schema{method.options.front()};
    return *find_learner(parse_options(schema, profile, where.empty() ? name : where).get_string(kProfile));
  }
  throw std::invalid_argument("no method is called '" + printable(name) + "'" + did_you_mean(name, names));
}

std::unique_ptr<Learner> make_learner(const std::string& name, const std::map<std::string, std::string>& options,
                                      const std::string& given_where) {
  const std::string where = given_where.empty() ? name : given_where;
  const LearnerEntry& entry = chosen_learner(name, options, where);
  if (entry.info.name == name) return make_from_text(entry, options, where);
  std::map<std::string, std::string> own = options;
  own.erase(kProfile);
  require_own_options(entry.info, own, where);
  return make_from_text(entry, own, where);
}

std::unique_ptr<Learner> make_learner_with(const std::string& name, const std::map<std::string, OptionValue>& values) {
  const LearnerEntry* entry = find_learner(name);
  if (entry == nullptr) throw std::invalid_argument("no learner is called '" + printable(name) + "'");
  std::vector<OptionSpec> schema = entry->info.options;
  add_missing(entry->info.training_options, schema);
  return entry->create(check_options(schema, values, name));
}

}  // namespace bdc
