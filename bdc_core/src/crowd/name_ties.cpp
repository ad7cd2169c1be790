#include "crowd/name_ties.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/composed.h"

namespace bdc {
namespace {

constexpr std::size_t max_folders = 16;  // of a path that are compared

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string url_decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Records by path, and by every ending of it that starts at a folder.
class Paths {
 public:
  void add(const std::string& path, std::size_t record) {
    add_to(whole_[path], record);
    for_each_ending(path, [&](const std::string& ending) { add_to(ending_[ending], record); });
  }

  /// Those that may be the same picture: of the same path, or else of one that continues it to the left. At most two.
  [[nodiscard]] std::vector<std::size_t> find(const std::string& path) const {
    if (const auto same = whole_.find(path); same != whole_.end()) return same->second;
    std::vector<std::size_t> out;
    const auto add_all = [&](const std::unordered_map<std::string, std::vector<std::size_t>>& from,
                             const std::string& key) {
      const auto found = from.find(key);
      if (found == from.end()) return;
      for (const std::size_t record : found->second) add_to(out, record);
    };
    add_all(ending_, path);
    for_each_ending(path, [&](const std::string& ending) { add_all(whole_, ending); });
    return out;
  }

 private:
  static void add_to(std::vector<std::size_t>& list, std::size_t record) {
    if (list.size() < 2 && std::find(list.begin(), list.end(), record) == list.end()) list.push_back(record);
  }

  template <class Use>
  static void for_each_ending(const std::string& path, const Use& use) {
    std::size_t from = path.rfind('/');
    for (std::size_t n = 0; n < max_folders && from != std::string::npos; ++n) {
      use(path.substr(from + 1));
      if (from == 0) break;
      from = path.rfind('/', from - 1);
    }
  }

  std::unordered_map<std::string, std::vector<std::size_t>> whole_, ending_;
};

/// Record numbers by source, sources in the order of their first record.
std::vector<std::vector<std::size_t>> by_source(const std::vector<NamedRecord>& records) {
  std::vector<std::vector<std::size_t>> out;
  std::unordered_map<std::uint32_t, std::size_t> place;
  for (std::size_t n = 0; n < records.size(); ++n) {
    const auto [at, is_new] = place.try_emplace(records[n].source, out.size());
    if (is_new) out.emplace_back();
    out[at->second].push_back(n);
  }
  return out;
}

}  // namespace

std::string comparable_path(std::string name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  const std::size_t local = name.find("?d=");  // Label Studio's local files
  const bool is_address = name.find("://") != std::string::npos || name.rfind("/data/", 0) == 0;
  if (local != std::string::npos) {
    name = url_decoded(name.substr(local + 3));
  } else if (is_address) {
    name = url_decoded(name.substr(0, name.find('?')));
  }
  while (name.rfind("./", 0) == 0) name.erase(0, 2);
  const bool has_drive = name.size() > 2 && name[1] == ':' && name[2] == '/' &&
                         ((name[0] >= 'A' && name[0] <= 'Z') || (name[0] >= 'a' && name[0] <= 'z'));
  if (has_drive) name.erase(0, 2);
  const bool is_whole = !name.empty() && name.front() == '/' && !is_address && local == std::string::npos;
  while (!name.empty() && name.front() == '/') name.erase(0, 1);
  if (is_whole && (name.rfind("home/", 0) == 0 || name.rfind("Users/", 0) == 0)) {
    const std::size_t user = name.find('/', name.find('/') + 1);
    if (user != std::string::npos) name.erase(0, user + 1);
  }
  const std::size_t last = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  const bool uploaded = name.find("upload/") != std::string::npos && name.size() > last + 9 && name[last + 8] == '-' &&
                        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(last),
                                    name.begin() + static_cast<std::ptrdiff_t>(last) + 8, is_hex);
  // An upload's folder is a number of the project's, not part of the picture's name.
  return uploaded ? name.substr(last + 9) : name;
}

std::vector<std::size_t> same_images(const std::vector<NamedRecord>& images, const Ambiguous& ambiguous) {
  std::vector<std::size_t> same(images.size());
  Paths paths;
  IdMap<std::vector<std::size_t>> by_id;  // things by the ids of their records; at most two each
  for (const std::vector<std::size_t>& source : by_source(images)) {
    std::unordered_map<std::size_t, std::size_t> taken;  // thing -> the record of this source that is it
    std::vector<std::string> path(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::size_t n = source[i];
      const NamedRecord& image = images[n];
      same[n] = n;
      path[i] = composed(comparable_path(image.name));
      std::vector<std::size_t> candidates;
      if (!path[i].empty()) candidates = paths.find(path[i]);
      if (const std::vector<std::size_t>* known = by_id.find(image.id); candidates.empty() && known != nullptr) {
        for (const std::size_t thing : *known) {
          if (path[i].empty() || images[thing].name.empty()) candidates.push_back(thing);
        }
      }
      if (candidates.empty()) continue;
      const auto [at, is_free] = taken.try_emplace(candidates.front(), n);
      if (candidates.size() > 1 || !is_free) {
        ambiguous(n, is_free ? candidates.back() : at->second);
        continue;
      }
      same[n] = candidates.front();
    }
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::size_t n = source[i], thing = same[n];
      if (!path[i].empty() && (thing == n || images[thing].name.empty())) paths.add(path[i], thing);
      const std::vector<std::size_t>* known = by_id.find(images[n].id);
      std::vector<std::size_t> things = known == nullptr ? std::vector<std::size_t>() : *known;
      if (things.size() < 2 && std::find(things.begin(), things.end(), thing) == things.end()) things.push_back(thing);
      by_id.set(images[n].id, std::move(things));
    }
  }
  return same;
}

std::string before_roboflow(const std::string& name) {
  constexpr std::string_view mark = ".rf.";
  const std::size_t at = name.rfind(mark);
  if (at == std::string::npos) return {};
  const std::size_t slash = name.find_last_of("/\\");
  const std::size_t from = slash == std::string::npos ? 0 : slash + 1;
  if (from > at) return {};
  const std::size_t end = std::min(name.find('.', at + mark.size()), name.size());
  const std::string_view hash = std::string_view(name).substr(at + mark.size(), end - at - mark.size());
  const bool is_hash = hash.size() >= 16 && hash.size() <= 40 && std::all_of(hash.begin(), hash.end(), [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
                       });
  const std::size_t extension = name.rfind('_', at);
  if (!is_hash || extension == std::string::npos || extension <= from || at - extension > 5) return {};
  std::string out = name.substr(from, at - from);
  out[extension - from] = '.';
  return out;
}

std::size_t tie_versions(const std::vector<NamedRecord>& images, std::vector<std::size_t>& same) {
  struct Group {
    std::vector<std::size_t> things;
    bool versions = false;  ///< one of them at least is named by Roboflow
  };
  std::unordered_map<std::string, Group> groups;
  std::map<std::size_t, std::set<std::int32_t>> who;  // saw a thing
  const bool any = std::any_of(images.begin(), images.end(),
                               [](const NamedRecord& image) { return !before_roboflow(image.name).empty(); });
  if (!any) return 0;
  for (std::size_t n = 0; n < images.size(); ++n) {
    who[same[n]].insert(images[n].who);
    if (same[n] != n) continue;
    const std::string before = before_roboflow(images[n].name);
    const std::string path = composed(comparable_path(images[n].name));
    Group& group = groups[before.empty() ? path.substr(path.rfind('/') + 1) : before];
    group.things.push_back(n);
    group.versions = group.versions || !before.empty();
  }
  std::size_t tied = 0;
  std::map<std::size_t, std::size_t> to;
  for (const auto& [name, group] : groups) {
    if (!group.versions || group.things.size() < 2) continue;
    std::set<std::int32_t> all;
    std::size_t count = 0;
    for (const std::size_t thing : group.things) {
      all.insert(who[thing].begin(), who[thing].end());
      count += who[thing].size();
    }
    if (all.count(-1) > 0 || all.size() != count) continue;
    for (const std::size_t thing : group.things) to[thing] = group.things.front();
    tied += group.things.size() - 1;
  }
  for (std::size_t& thing : same) {
    if (const auto at = to.find(thing); at != to.end()) thing = at->second;
  }
  return tied;
}

std::vector<std::size_t> same_classes(const std::vector<NamedRecord>& classes) {
  const auto is_nameless = [](const NamedRecord& record) {
    return record.name.empty() ||
           (record.id.is_integer ? record.name == std::to_string(record.id.value) : record.name == record.id.text);
  };
  std::vector<std::size_t> same(classes.size());
  std::unordered_map<std::string, std::size_t> by_name;
  IdMap<std::size_t> by_id;
  for (const std::vector<std::size_t>& source : by_source(classes)) {
    for (const std::size_t n : source) {
      same[n] = n;
      if (const auto named = by_name.find(composed(classes[n].name)); named != by_name.end()) {
        if (classes[named->second].source != classes[n].source) same[n] = named->second;
      } else if (const std::size_t* known = by_id.find(classes[n].id); known != nullptr) {
        if (is_nameless(classes[n]) || is_nameless(classes[*known])) same[n] = *known;
      }
    }
    for (const std::size_t n : source) {
      by_name.try_emplace(composed(classes[n].name), same[n]);
      if (by_id.find(classes[n].id) == nullptr) by_id.set(classes[n].id, same[n]);
    }
  }
  return same;
}

}  // namespace bdc
