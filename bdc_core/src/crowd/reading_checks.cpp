#include "crowd/reading_checks.h"

#include <algorithm>
#include <vector>

#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "crowd/annotator_names.h"
#include "crowd/doubts.h"

namespace bdc {

void require_used_options(const CrowdFormat& format, const ReadOptions& options, const std::string& path) {
  const auto refuse = [&](const std::string& option, const std::string& advice) {
    throw DataError(path + ": " + option + " says nothing to the format " + in_quotes(format.name) + "; " + advice);
  };
  if (!options.columns.empty() && !format.takes.columns) {
    refuse("--columns", "it names the columns of tables (csv) and the class of VIA's regions");
  }
  if (!options.class_names.empty() && !format.takes.class_names) {
    refuse("--class-names", "its files name their classes themselves. Leave the option out");
  }
  if (options.voc_one_based && !format.takes.one_based) refuse("--voc-one-based", "it is of Pascal VOC's XML alone");
  if (options.role != BoxRole::crowd) return;
  if (!options.annotator_key.empty() && !format.takes.annotator_key) {
    refuse("--annotator-key", "no member of its records is looked at for who drew them");
  }
  if (options.annotator_from == AnnotatorFrom::assignee && !format.takes.assignee) {
    refuse("--annotator-from assignee", "CVAT's files alone have assignees");
  }
  if (options.annotator_from == AnnotatorFrom::key && !format.takes.from_key) {
    refuse("--annotator-from key", "no member of its records says who drew them");
  }
}

void require_named_annotator(const ReadContext& context, const CrowdData& data) {
  const std::string& given = context.options.annotator;
  if (given.empty() || context.options.role != BoxRole::crowd || data.annotators.empty()) return;
  std::vector<std::string> names;
  for (const AnnotatorRecord& annotator : data.annotators) {
    if (annotator.id.text == given) return;
    names.push_back(annotator.id.text);
  }
  throw DataError(context.paths.front() + ": --annotator " + in_quotes(given) +
                  " was not used, as the labels say themselves who drew: " + some_names(names) +
                  "; leave the option out");
}

void tell_doubtful_names(ReadContext& context, const CrowdData& data) {
  if (data.annotators.size() < 2) return;
  std::vector<std::string> doubtful;
  for (const AnnotatorRecord& annotator : data.annotators) {
    const std::string name = plain_spelling(annotator.id.text);
    for (const char* known : {"gt", "truth", "groundtruth", "gold", "goldstandard", "consensus", "merged"}) {
      if (name == known) doubtful.push_back(annotator.id.text);
    }
  }
  if (doubtful.empty()) return;
  context.note(some_names(doubtful) +
               (doubtful.size() == 1 ? " is taken for an annotator" : " are taken for annotators") +
               "; if these are true boxes or a consensus, leave them out here (true boxes go into --truth)");
}

}  // namespace bdc
