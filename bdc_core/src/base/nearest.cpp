#include "bdc/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "bdc/base/text.h"

namespace bdc {
namespace {

/// In lower case, without the dashes of an option.
std::string bare(const std::string& word) {
  std::string out = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// First letters of the words in a name: lr for learning_rate.
std::string initials(const std::string& name) {
  std::string out;
  bool begins = true;
  for (const char c : name) {
    const bool joins = c == '_' || c == '-' || c == '.';
    if (begins && !joins) out += c;
    begins = joins;
  }
  return out;
}

/// How a word may have been meant, the likeliest first. `none` is no likeness at all.
enum Likeness { slip, beginning, part, abbreviation, far_slip, none };

Likeness likeness(const std::string& word, const std::string& candidate, std::size_t distance) {
  constexpr std::size_t kLeast = 3;  // shorter words are part of everything
  if (distance <= std::max<std::size_t>(1, word.size() / 4) && distance < std::max<std::size_t>(word.size(), 2)) {
    return slip;
  }
  const std::string a = bare(word), b = bare(candidate);
  const std::string &shorter = a.size() < b.size() ? a : b, &longer = a.size() < b.size() ? b : a;
  if (shorter.size() >= kLeast) {
    const auto at = longer.find(shorter);
    if (at != std::string::npos) return at == 0 ? beginning : part;
  }
  if (a.size() >= 2 && a == initials(b)) return abbreviation;
  return distance < std::max<std::size_t>(word.size(), 2) / 2 + 1 ? far_slip : none;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  if (word.size() > 200) return "";
  std::string best;
  std::pair<Likeness, std::size_t> least{none, 0};  // less than any that is none
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const std::pair<Likeness, std::size_t> rank{likeness(word, candidate, distance), distance};
    if (rank < least) {
      least = rank;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "";
  const std::string near = nearest(word, candidates);
  return near.empty() ? "; known: " + join(candidates) : "; did you mean '" + near + "'?";
}

}  // namespace bdc
