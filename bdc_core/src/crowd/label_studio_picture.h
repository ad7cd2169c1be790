#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crowd/foreign_formats.h"

namespace bdc {

/// The texts in a task's data of Label Studio, one of which names its picture.
class LabelStudioPicture {
 public:
  void add(std::string_view key, std::string_view value) { texts_.emplace_back(key, value); }

  /// Whether several texts look like pictures and no rule says which is meant.
  [[nodiscard]] bool is_guessed(std::string_view to_name) const {
    std::size_t pictures = 0;
    for (const auto& [key, value] : texts_) {
      if (key == "image" || key == to_name) return false;
      pictures += is_picture(value) ? 1 : 0;
    }
    return pictures > 1;
  }

  /// The one that the boxes' to_name names, or "image", or the first that looks like a picture, or the first. Empty for
  /// a picture that stands in the text itself.
  [[nodiscard]] std::string file(std::string_view to_name) const {
    const std::string* best = nullptr;
    int rank = 0;
    for (const auto& [key, value] : texts_) {
      const int own = !to_name.empty() && key == to_name ? 4 : key == "image" ? 3 : is_picture(value) ? 2 : 1;
      if (own <= rank) continue;
      rank = own;
      best = &value;
    }
    return best == nullptr || best->rfind("data:", 0) == 0 ? std::string() : *best;
  }

 private:
  static bool is_picture(const std::string& text) {
    return text.rfind("/data/", 0) == 0 || text.rfind("data:image", 0) == 0 || text.find("://") != std::string::npos ||
           is_picture_name(text);
  }

  std::vector<std::pair<std::string, std::string>> texts_;
};

}  // namespace bdc
