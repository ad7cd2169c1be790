#pragma once

#include <string>
#include <vector>

namespace bdc {

/// The candidate that `word` was most likely meant to be: by a slip of the keys, as its beginning or part (batch for
/// batch_size), by its initials (lr for learning_rate), or by a small edit distance. "" when none is near.
[[nodiscard]] std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

/// "; did you mean 'x'?" or, when nothing is near, "; known: a, b, c". Empty for no candidates.
[[nodiscard]] std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace bdc
