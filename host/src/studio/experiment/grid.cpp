#include "studio/experiment/grid.h"

#include <algorithm>
#include <set>

#include "bdc/base/nearest.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "studio/experiment/file_content.h"
#include "synth/crowd_spec.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw UserError(ExitCode::config, where + ": " + what);
}

void check_keys(const Json& json, const std::string& where, const std::vector<std::string>& known) {
  if (!json.is_object()) fail(where, "expected an object, found " + type_of(json));
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail(member_place(where, printable(key)), "unknown key" + did_you_mean(key, known));
    }
  }
}

std::string name_of(const Json& entry, const std::string& where) {
  if (!entry.contains("name") || !entry["name"].is_string() || entry["name"].get<std::string>().empty()) {
    fail(member_place(where, "name"), "expected a name");
  }
  return entry["name"].get<std::string>();
}

/// A list of objects with names, each used once.
std::vector<Json> entries(const Json& grid, const std::string& source, const char* key, bool required) {
  const std::string where = member_place(source, key);
  if (!grid.contains(key)) {
    if (required) fail(where, "is missing");
    return {};
  }
  if (!grid[key].is_array() || (required && grid[key].empty())) fail(where, "expected a list of objects");
  std::vector<Json> out;
  std::set<std::string> names;
  for (std::size_t n = 0; n < grid[key].size(); ++n) {
    const std::string at = where + "[" + std::to_string(n) + "]";
    if (!grid[key][n].is_object()) fail(at, "expected an object, found " + type_of(grid[key][n]));
    if (!names.insert(name_of(grid[key][n], at)).second) fail(at + ".name", "appears twice");
    out.push_back(grid[key][n]);
  }
  return out;
}

void make_absolute(Json& entry, const char* key, const fs::path& folder, const std::string& where) {
  if (!entry.contains(key)) return;
  if (!entry[key].is_string()) fail(member_place(where, key), "expected a path, found " + type_of(entry[key]));
  entry[key] = fs::weakly_canonical(folder / entry[key].get<std::string>()).string();
}

/// Files to start networks from, wherever they are named.
void make_weights_absolute(Json& networks, const fs::path& folder, const std::string& where) {
  if (!networks.is_object()) return;
  if (networks.contains("weights") && networks["weights"] != Json(""))
    make_absolute(networks, "weights", folder, where);
  for (auto& [key, value] : networks.items()) make_weights_absolute(value, folder, member_place(where, printable(key)));
}

void check_sets(const Json& entry, const std::string& where) {
  if (!entry.contains("set")) return;
  if (!entry["set"].is_object())
    fail(member_place(where, "set"), "expected an object of config keys, found " + type_of(entry["set"]));
  for (const auto& [key, value] : entry["set"].items()) {
    if (value.is_structured() || value.is_null())
      fail(member_place(where, "set." + printable(key)), "expected a value, found " + type_of(value));
  }
}

void check_data(Json& data, const std::string& where, const fs::path& folder) {
  check_keys(data, where, {"name", "crowd", "truth", "images", "val_labels", "val_images", "shapes"});
  const bool files = data.contains("truth") || data.contains("crowd");
  if (data.contains("shapes") == files) fail(where, "expected \"truth\" or \"crowd\" (files), or \"shapes\"");
  for (const char* key : {"crowd", "truth", "images", "val_labels", "val_images"})
    make_absolute(data, key, folder, where);
  add_content(data, {"crowd", "truth", "val_labels"});
  if (!data.contains("shapes")) return;
  const std::vector<std::string> known = {"train_images", "test_images", "classes", "size", "max_objects"};
  check_keys(data["shapes"], member_place(where, "shapes"), known);
  for (const auto& [key, value] : data["shapes"].items()) {
    const std::int64_t most = key == "classes" ? 12 : key == "max_objects" ? 50 : key == "size" ? 4096 : 1000000;
    const std::int64_t least = key == "size" ? 32 : 1;
    if (!value.is_number_integer() || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
      fail(member_place(where, std::string("shapes.") + key),
           "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
  }
}

void add_detector_content(Json& crowd) {
  if (!crowd.contains("detectors")) return;
  Json content = Json::array();
  for (const Json& detector : crowd["detectors"]) {
    content.push_back(content_digest(detector["file"].get<std::string>()));
  }
  crowd["content"] = std::move(content);
}

void check_crowd(Json& crowd, const std::string& where, const fs::path& folder) {
  if (crowd.contains("as_drawn")) {
    check_keys(crowd, where, {"name", "as_drawn"});
    if (crowd["as_drawn"] != true) fail(member_place(where, "as_drawn"), "expected true");
    return;
  }
  if (crowd.contains("detectors") && crowd["detectors"].is_array()) {
    for (auto& detector : crowd["detectors"]) {
      if (detector.is_object()) make_absolute(detector, "file", folder, member_place(where, "detectors"));
    }
  }
  if (crowd.contains("networks")) make_weights_absolute(crowd["networks"], folder, member_place(where, "networks"));
  Json spec = crowd;
  spec.erase("name");
  if (crowd.contains("trained_detectors")) {
    spec.erase("trained_detectors");
    for (const Json& d : entries(crowd, where, "trained_detectors", true)) {
      const std::string at = member_place(where, "trained_detectors.") + d["name"].get<std::string>();
      check_keys(d, at, {"name", "plugin", "set", "min_score"});
      check_sets(d, at);
      spec["detectors"].push_back({{"name", d["name"]}, {"file", "to be made"}});
    }
  }
  if (parse_crowd_spec(spec, where).empty_share > 0) {
    fail(where, "a crowd with images without objects (empty_share) has no pictures to train on; use `synth`");
  }
  add_detector_content(crowd);
}

std::vector<std::int64_t> seeds_of(const Json& grid, const std::string& source) {
  const std::string where = member_place(source, "seeds");
  if (!grid.contains("seeds")) return {1};
  std::vector<std::int64_t> out;
  if (!grid["seeds"].is_array() || grid["seeds"].empty()) fail(where, "expected a list of whole numbers");
  for (const Json& seed : grid["seeds"]) {
    if (!seed.is_number_integer() || seed.get<std::int64_t>() < 0) fail(where, "expected whole numbers from 0");
    if (std::find(out.begin(), out.end(), seed.get<std::int64_t>()) != out.end())
      fail(where, seed.dump() + " appears twice");
    out.push_back(seed.get<std::int64_t>());
  }
  return out;
}

/// The name with everything that is not fit for a file replaced.
std::string file_part(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool fit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    out += fit ? c : '_';
  }
  return out.substr(0, 40);
}

void finish_cell(Cell& cell) {
  const std::string text = cell.settings.dump(-1, ' ', false, Json::error_handler_t::replace);
  cell.id = file_part(cell.data) + "_" + file_part(cell.crowd) +
            (cell.detector.empty() ? "" : "_" + file_part(cell.detector)) + "_" + file_part(cell.method) + "_" +
            std::to_string(cell.seed) + "_" + digest(text).substr(0, 8);
}

}  // namespace

Grid read_grid(const fs::path& file, const ResolvedConfig& resolved) {
  const Json json = read_json_file(file);
  const std::string source = file.filename().string();
  const fs::path folder = fs::absolute(file).parent_path();
  check_keys(json, source, {"name", "times", "data", "crowds", "methods", "detectors", "seeds", "set"});
  check_sets(json, source);
  Grid grid;
  grid.source = source;
  grid.name =
      json.contains("name") && json["name"].is_string() ? json["name"].get<std::string>() : file.stem().string();
  if (json.contains("times")) {
    if (!json["times"].is_boolean()) fail(member_place(source, "times"), "expected true or false");
    grid.times = json["times"].get<bool>();
  }
  auto data = entries(json, source, "data", true), crowds = entries(json, source, "crowds", true),
       methods = entries(json, source, "methods", true), detectors = entries(json, source, "detectors", false);
  for (Json& d : data) check_data(d, member_place(source, "data.") + d["name"].get<std::string>(), folder);
  for (Json& c : crowds) check_crowd(c, member_place(source, "crowds.") + c["name"].get<std::string>(), folder);
  for (Json& m : methods) {
    const std::string where = member_place(source, "methods.") + m["name"].get<std::string>();
    check_keys(m, where, {"name", "method", "options"});
    if (!m.contains("method")) m["method"] = m["name"];
    if (!m["method"].is_string()) fail(member_place(where, "method"), "expected the name of a method");
    if (!m.contains("options")) m["options"] = Json::object();
    if (!m["options"].is_object()) fail(member_place(where, "options"), "expected an object");
  }
  for (Json& d : detectors) {
    const std::string where = member_place(source, "detectors.") + d["name"].get<std::string>();
    check_keys(d, where, {"name", "plugin", "config", "set"});
    check_sets(d, where);
    make_absolute(d, "config", folder, where);
    if (d.contains("config")) d["content"] = digest(resolved(d["config"].get<std::string>()));
    if (!d.contains("plugin") && !d.contains("config")) d["plugin"] = d["name"];
  }
  if (detectors.empty()) detectors.push_back(nullptr);
  for (const Json& d : data) {
    for (const Json& c : crowds) {
      const bool drawn = c.contains("as_drawn");
      if (c.contains("trained_detectors") && !d.contains("shapes")) {
        fail(member_place(source, "crowds.") + c["name"].get<std::string>(),
             "trained_detectors are for shapes; for files, give results under \"detectors\"");
      }
      if (drawn ? d.contains("crowd") : d.contains("shapes") || d.contains("truth")) continue;
      fail(member_place(source, "data.") + d["name"].get<std::string>(),
           "crowd '" + c["name"].get<std::string>() +
               (drawn ? "' is as drawn, but there is no \"crowd\", a file of annotators' labels"
                      : "' is simulated, but there is no \"truth\", a file of true boxes"));
    }
  }
  const auto seeds = seeds_of(json, source);
  for (const Json& d : data) {
    for (const Json& c : crowds) {
      for (const Json& detector : detectors) {
        for (const Json& m : methods) {
          for (const std::int64_t seed : seeds) {
            Cell cell{d["name"], c["name"], m["name"], detector.is_null() ? "" : detector["name"].get<std::string>(),
                      seed,      {},        {}};
            cell.settings = {{"data", d}, {"crowd", c}, {"method", m}, {"detector", detector}, {"seed", seed}};
            if (!detector.is_null()) cell.settings["set"] = json.value("set", Json::object());
            finish_cell(cell);
            grid.cells.push_back(std::move(cell));
          }
        }
      }
    }
  }
  return grid;
}

}  // namespace bdc::host
