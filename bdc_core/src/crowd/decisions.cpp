#include "bdc/crowd/decisions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/nearest.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

constexpr double kSamePlace = 0.5;

/// A decision with where it stands.
struct Entry {
  Decision decision;
  std::string source;  ///< "a.json: decisions[3]"
  bool dropped = false;
};

struct Names {
  std::map<std::pair<bool, std::string>, std::size_t> image;  ///< by (is a number, text)
  std::map<std::string, std::size_t> label;
  std::vector<std::string> labels;
};

Names names_of(const CrowdData& crowd) {
  Names out;
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    out.image.emplace(std::make_pair(crowd.images[i].id.is_integer, crowd.images[i].id.text), i);
  }
  out.labels = class_names(crowd);
  for (std::size_t j = 0; j < out.labels.size(); ++j) out.label.emplace(out.labels[j], j);
  return out;
}

Box read_box(JsonReader& json) {
  std::array<double, 4> v{};
  std::size_t n = 0;
  for (json.begin_array(); json.next_element(); ++n) {
    const double x = json.number();
    if (n < 4) v[n] = x;
  }
  if (n != 4) json.fail_value("expected x, y, width and height, found " + counted(n, "number"));
  const Box box{v[0], v[1], v[0] + v[2], v[1] + v[3]};
  if (!box.valid()) json.fail_value("expected a box with a width and height above 0");
  return box;
}

Entry read_entry(JsonReader& json, const CrowdData& crowd, const Names& names) {
  const std::string source = json.name() + ": " + json.path();
  std::optional<std::size_t> image;
  std::optional<Box> box, place;
  std::string file, verdict, category;
  bool has_category = false;
  json.begin_object();
  while (json.next_member()) {
    const std::string key(json.key());
    if (key == "image_id") {
      const bool number = json.peek() == JsonReader::Type::number;
      const std::string id = number ? std::to_string(json.integer()) : std::string(json.string());
      const auto found = names.image.find({number, id});
      if (found == names.image.end()) json.fail_value("the labels have no image with the id " + in_quotes(id));
      image = found->second;
    } else if (key == "file_name") {
      file = std::string(json.string());
    } else if (key == "verdict") {
      verdict = std::string(json.string());
      if (verdict != "object" && verdict != "nothing") {
        json.fail_value("expected \"object\" or \"nothing\", found " + in_quotes(verdict));
      }
    } else if (key == "category") {
      category = std::string(json.string());
      has_category = true;
      if (names.label.count(category) == 0) {
        json.fail_value("the labels have no class " + in_quotes(category) + did_you_mean(category, names.labels));
      }
    } else if (key == "bbox") {
      box = read_box(json);
    } else if (key == "place" && json.peek() != JsonReader::Type::null) {
      place = read_box(json);
    } else {
      json.skip();
    }
  }
  const auto refuse = [&](const std::string& what) { throw DataError(source + ": " + what); };
  if (!image) refuse("expected image_id, found none");
  if (verdict.empty()) refuse("expected a verdict, found none");
  const std::string& known = crowd.images[*image].file;
  if (!file.empty() && !known.empty() && file != known) {
    refuse("the image " + crowd.images[*image].id.text + " is " + in_quotes(known) + " in the labels and " +
           in_quotes(file) + " here; these decisions are about other labels");
  }
  Entry out;
  out.source = source;
  out.decision.image = static_cast<std::int32_t>(*image);
  out.decision.object = verdict == "object";
  out.decision.place = place;
  if (out.decision.object) {
    if (!box) refuse("an object needs a bbox, found none");
    if (!has_category) refuse("an object needs a category, found none");
    out.decision.box = *box;
    out.decision.label = static_cast<std::int32_t>(names.label.at(category));
  } else {
    if (!place) refuse("\"nothing\" needs a place, found none");
    out.decision.box = *place;
  }
  return out;
}

std::vector<Entry> read_entries(std::istream& in, const std::string& file, const CrowdData& crowd, const Names& names) {
  JsonReader json(in, file);
  std::vector<Entry> out;
  std::string format;
  std::int64_t version = 0;
  bool has_list = false;
  json.begin_object();
  while (json.next_member()) {
    if (json.key() == "format") {
      format = std::string(json.string());
    } else if (json.key() == "version") {
      version = json.integer();
    } else if (json.key() == "decisions") {
      has_list = true;
      json.begin_array();
      while (json.next_element()) out.push_back(read_entry(json, crowd, names));
    } else {
      json.skip();
    }
  }
  json.finish();
  if (format != "bdc_decisions" || !has_list) {
    throw DataError(file + ": expected decisions as the report saves them (\"format\": \"bdc_decisions\"), found " +
                    (format.empty() ? std::string("no format") : in_quotes(format)));
  }
  if (version != 1) {
    throw DataError(file + ": expected version 1 of bdc_decisions, found " + std::to_string(version) +
                    "; this version of bdc cannot read it");
  }
  return out;
}

std::string text_of(const Decision& d, const CrowdData& crowd) {
  return d.object ? "an object of class " + in_quotes(crowd.classes[static_cast<std::size_t>(d.label)].name)
                  : "nothing";
}

Box mean_of(const Box& a, const Box& b) {
  return {(a.x1 + b.x1) / 2, (a.y1 + b.y1) / 2, (a.x2 + b.x2) / 2, (a.y2 + b.y2) / 2};
}

/// Adds a file's decisions to those of the files before.
void add_file(std::vector<Entry> more, const CrowdData& crowd, std::vector<Entry>& all,
              std::vector<std::string>& contradictions) {
  std::map<std::int32_t, std::vector<std::size_t>> by_image;
  for (std::size_t n = 0; n < all.size(); ++n) by_image[all[n].decision.image].push_back(n);
  struct Pair {
    double overlap;
    std::size_t old_one, new_one;
  };
  std::vector<Pair> pairs;
  for (std::size_t n = 0; n < more.size(); ++n) {
    for (const std::size_t m : by_image[more[n].decision.image]) {
      const double overlap = iou(all[m].decision.at(), more[n].decision.at());
      if (overlap >= kSamePlace) pairs.push_back({overlap, m, n});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.overlap > b.overlap; });
  std::vector<char> used_old(all.size(), 0), used_new(more.size(), 0);
  for (const Pair& pair : pairs) {
    if (used_old[pair.old_one] != 0 || used_new[pair.new_one] != 0) continue;
    used_old[pair.old_one] = used_new[pair.new_one] = 1;
    Entry &one = all[pair.old_one], &other = more[pair.new_one];
    if (one.decision.object == other.decision.object && one.decision.label == other.decision.label) {
      one.decision.box = mean_of(one.decision.box, other.decision.box);
      continue;
    }
    const ImageRecord& image = crowd.images[static_cast<std::size_t>(one.decision.image)];
    contradictions.push_back("image " + (image.file.empty() ? image.id.text : image.file) + ": " + one.source +
                             " says " + text_of(one.decision, crowd) + ", " + other.source + " says " +
                             text_of(other.decision, crowd));
    one.dropped = true;
  }
  for (std::size_t n = 0; n < more.size(); ++n) {
    if (used_new[n] == 0) all.push_back(std::move(more[n]));
  }
}

/// Of one person the last word about a place counts.
std::vector<Entry> last_words(std::vector<Entry> entries) {
  std::vector<Entry> out;
  std::map<std::array<double, 5>, std::size_t> known;
  for (Entry& entry : entries) {
    const Box& at = entry.decision.at();
    const auto [place, fresh] = known.emplace(
        std::array<double, 5>{static_cast<double>(entry.decision.image), at.x1, at.y1, at.x2, at.y2}, out.size());
    if (fresh) {
      out.push_back(std::move(entry));
    } else {
      out[place->second] = std::move(entry);
    }
  }
  return out;
}

Decisions decisions_of(std::vector<Entry> all, std::vector<std::string> contradictions) {
  Decisions out;
  out.contradictions = std::move(contradictions);
  for (Entry& entry : all) {
    if (!entry.dropped) out.list.push_back(entry.decision);
  }
  std::stable_sort(out.list.begin(), out.list.end(),
                   [](const Decision& a, const Decision& b) { return a.image < b.image; });
  return out;
}

}  // namespace

Decisions read_decisions(const std::vector<std::string>& files, const CrowdData& crowd) {
  const Names names = names_of(crowd);
  std::vector<Entry> all;
  std::vector<std::string> contradictions;
  for (const std::string& file : files) {
    std::ifstream in = open_input(file);
    add_file(last_words(read_entries(in, file, crowd, names)), crowd, all, contradictions);
  }
  return decisions_of(std::move(all), std::move(contradictions));
}

Decisions read_decisions(std::istream& in, const std::string& name, const CrowdData& crowd) {
  return decisions_of(last_words(read_entries(in, name, crowd, names_of(crowd))), {});
}

}  // namespace bdc
