#include "crowd/splits.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "bdc/base/text.h"

namespace bdc {

namespace {

/// The split that a single word names; empty for any other word.
std::string split_word(std::string name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();  // val2017
  for (const char* train : {"train", "training"}) {
    if (name == train) return "train";
  }
  for (const char* val : {"val", "valid", "validation", "dev", "eval"}) {
    if (name == val) return "val";
  }
  for (const char* test : {"test", "testing"}) {
    if (name == test) return "test";
  }
  return {};
}

/// A name in lower case, taken apart at what joins words.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : lower_case(name)) {
    if (c != '_' && c != '-' && c != '.' && c != ' ') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// A word that says what a file holds, and not who made it.
bool is_plain_word(const std::string& word) {
  for (const char* known : {"instances", "labels", "label", "annotations", "annotation", "boxes", "bbox", "coco", "set",
                            "data", "default", "gt"}) {
    if (word == known) return true;
  }
  return false;
}

/// A name that contains one split: which, and the other words.
struct SplitName {
  std::string split, rest;
  bool plain = true;  ///< the rest is made of plain words
};

SplitName split_name(const std::string& name) {
  SplitName out;
  std::size_t splits = 0;
  for (const std::string& word : words_of(name)) {
    if (std::string split = split_word(word); !split.empty()) {
      out.split = std::move(split);
      ++splits;
      continue;
    }
    out.rest += (out.rest.empty() ? "" : "_") + word;
    out.plain = out.plain && is_plain_word(word);
  }
  if (splits != 1) out.split.clear();
  return out;
}

}  // namespace

std::string split_of(const std::string& folder_name) {
  const SplitName found = split_name(folder_name);
  return found.plain ? found.split : std::string();
}

std::vector<std::string> splits_below(const std::string& folder, const std::vector<std::string>& files) {
  std::vector<std::string> out, stems;
  for (const std::string& file : files) {
    std::string split;
    for (const auto& part : std::filesystem::path(file).lexically_relative(folder).parent_path()) {
      if (std::string found = split_of(part.string()); !found.empty()) split = std::move(found);
    }
    stems.push_back(file_stem(file));
    if (std::string found = split_of(stems.back()); !found.empty()) split = std::move(found);
    out.push_back(std::move(split));
  }
  if (std::none_of(out.begin(), out.end(), [](const std::string& split) { return split.empty(); })) return out;
  const bool by_name = stems.size() > 1 && are_splits(stems);
  for (std::size_t n = 0; n < out.size(); ++n) out[n] = by_name ? split_name(stems[n]).split : std::string();
  return out;
}

std::vector<std::string> splits_among(const std::vector<std::string>& names) {
  std::map<std::string, std::map<std::string, std::string>> by_rest;  // the splits of each data set, with their names
  for (const std::string& name : names) {
    const SplitName found = split_name(name);
    if (!found.split.empty()) by_rest[found.plain ? std::string() : found.rest].emplace(found.split, name);
  }
  std::vector<std::string> out;
  for (const auto& [rest, splits] : by_rest) {
    if (splits.size() < 2 || !out.empty()) continue;
    for (const auto& [split, name] : splits) out.push_back(name);
  }
  return out;
}

bool are_splits(const std::vector<std::string>& names) {
  if (names.empty()) return false;
  if (std::all_of(names.begin(), names.end(), [](const std::string& name) { return !split_of(name).empty(); })) {
    return true;
  }
  const std::string rest = split_name(names.front()).rest;
  std::set<std::string> different;
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const SplitName found = split_name(name);
    return !found.split.empty() && found.rest == rest && different.insert(found.split).second;
  });
}

}  // namespace bdc
