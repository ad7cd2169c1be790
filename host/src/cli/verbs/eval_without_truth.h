#pragma once

#include <string>
#include <vector>

#include "bdc/crowd/crowd_io.h"

namespace bdc::host {

struct EvalByCrowd {
  std::vector<std::string> labels;
  std::string predictions;  ///< empty: the annotators' agreement alone
  int threads = 0;
  bool per_class = false, per_annotator = false, json = false;
};

/// `eval --crowd`: a detector's expected AP without truth, what labels allow, and how far the annotators agree.
int eval_without_truth(const EvalByCrowd& what, const ReadOptions& reading);

}  // namespace bdc::host
