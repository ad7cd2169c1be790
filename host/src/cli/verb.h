#pragma once

#include "cli/command.h"

namespace bdc::host {

/// The verbs in the order of --help. A new one is a file in verbs/ that defines `void add_<name>(Command& program)`,
/// and its name here.
#define BDC_VERBS(VERB) \
  VERB(train)           \
  VERB(val)             \
  VERB(predict)         \
  VERB(compare)         \
  VERB(aggregate)       \
  VERB(plan)            \
  VERB(eval)            \
  VERB(validate)        \
  VERB(convert)         \
  VERB(annotators)      \
  VERB(synth)           \
  VERB(experiment)      \
  VERB(report)          \
  VERB(plugins)         \
  VERB(config)          \
  VERB(version)

#define BDC_DECLARE_VERB(name) void add_##name(Command& program);
BDC_VERBS(BDC_DECLARE_VERB)
#undef BDC_DECLARE_VERB

}  // namespace bdc::host
