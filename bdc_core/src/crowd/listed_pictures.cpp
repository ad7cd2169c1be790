#include "crowd/listed_pictures.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_list_size = std::size_t{1} << 30;

bool is_there(const fs::path& path) {
  return is_folder(path.string()) || is_regular_file(path.string());
}

bool is_picture_name(const fs::path& path) {
  const std::string extension = lower_case(path.extension().string());
  for (const char* known : {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"}) {
    if (extension == known) return true;
  }
  return false;
}

/// images/a/1.jpg -> labels/a/1.txt, by the last folder "images".
std::string label_file_of(const fs::path& picture) {
  std::vector<fs::path> parts(picture.begin(), picture.end());
  for (std::size_t n = parts.size(); n-- > 1;) {
    if (parts[n - 1] != "images") continue;
    parts[n - 1] = "labels";
    break;
  }
  fs::path out;
  for (const fs::path& part : parts) out /= part;
  return out.replace_extension(".txt").string();
}

class Lister {
 public:
  Lister(const DataYaml& yaml, const std::string& file, ReadContext& context)
      : yaml_(yaml), file_(file), folder_(fs::path(file).parent_path()), context_(context) {}

  std::vector<ListedPicture> list(const DataYaml::Split& split) {
    const std::string where = file_ + ":" + std::to_string(split.line) + ": " + split.name;
    std::vector<ListedPicture> out;
    repeated_ = 0;
    for (const std::string& place : split.places) {
      const fs::path found = resolve(place, where);
      if (is_folder(found.string())) {
        for (const std::string& picture :
             files_below(found.string(), {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"})) {
          add(picture, out);
        }
      } else if (is_picture_name(found)) {
        add(found, out);
      } else {
        read_list(found, out);
      }
    }
    if (repeated_ > 0) {
      context_.note(file_ + ": " + counted(repeated_, "picture") + " of " + split.name +
                    " named before, in this split or an earlier one: read once");
    }
    if (out.empty() && repeated_ > 0) return out;
    if (out.empty()) throw DataError(where + ": expected pictures, found none in " + printable(join(split.places)));
    const auto has_labels = [](const ListedPicture& p) { return is_regular_file(p.label_file); };
    const auto labelled = static_cast<std::size_t>(std::count_if(out.begin(), out.end(), has_labels));
    if (labelled == 0) {
      throw DataError(where + ": none of the " + std::to_string(out.size()) +
                      " pictures has labels; expected those of " + printable(out.front().picture) + " in " +
                      printable(out.front().label_file));
    }
    if (labelled < out.size()) {
      context_.note(file_ + ": " + std::to_string(out.size() - labelled) + " of " + std::to_string(out.size()) +
                    " pictures of " + split.name + " have no label file: nothing was drawn there");
    }
    return out;
  }

  [[nodiscard]] std::string place(const std::string& name, const std::string& what) {
    return resolve(name, file_ + ": " + what).string();
  }

 private:
  /// The places where something of this name may be, most likely first.
  [[nodiscard]] std::vector<fs::path> tries(const std::string& place) const {
    const fs::path name(place);
    if (name.is_absolute()) return {name};
    std::vector<fs::path> out;
    const auto add = [&](const fs::path& path) {
      const fs::path normal = path.lexically_normal();
      if (std::find(out.begin(), out.end(), normal) == out.end()) out.push_back(normal);
    };
    const fs::path base(yaml_.path);
    if (base.is_absolute()) {
      add(base / name);
    } else if (!base.empty()) {
      add(folder_ / base / name);
      add(base / name);
    }
    add(folder_ / name);
    add(name);
    std::string inside = place;
    while (inside.rfind("../", 0) == 0) inside.erase(0, 3);
    if (inside != place) add(folder_ / inside);
    return out;
  }

  fs::path resolve(const std::string& place, const std::string& where) {
    std::vector<std::string> tried;
    std::vector<fs::path> found;
    for (const fs::path& path : tries(place)) {
      tried.push_back(printable(path.string(), 1000));
      if (is_there(path)) found.push_back(path);
    }
    if (found.empty()) {
      throw DataError(where + ": " + in_quotes(place) + " is neither a folder nor a file; tried\n  " +
                      join(tried, "\n  ") + "\n  correct it, or set \"path\" to the data set's folder");
    }
    if (found.size() > 1 || found.front().string() != tried.front()) {
      context_.note(where + ": " + in_quotes(place) + " is taken to be " + printable(found.front().string()) +
                    (found.size() > 1 ? ", although " + printable(found[1].string()) + " is there, too" : ""));
    }
    return found.front();
  }

  /// A text file with a picture per line, relative to the file, to `path` or to the working folder.
  void read_list(const fs::path& list, std::vector<ListedPicture>& out) {
    std::ifstream in = open_input(list.string());
    const std::string text = read_all(in, list.string(), max_list_size);
    if (!is_utf8(text)) throw DataError(list.string() + ": expected a list of pictures in UTF-8, found other bytes");
    std::string_view rest = text;
    for (std::size_t line = 1; !rest.empty(); ++line) {
      const std::size_t end = rest.find('\n');
      std::string name(trimmed(rest.substr(0, end)));
      std::replace(name.begin(), name.end(), '\\', '/');
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      if (name.empty()) continue;
      if (!is_picture_name(name)) {
        throw DataError(list.string() + ":" + std::to_string(line) + ": expected the name of a picture, found " +
                        in_quotes(name));
      }
      add(in_list(list, fs::path(name), line), out);
    }
  }

  fs::path in_list(const fs::path& list, const fs::path& name, std::size_t line) {
    if (name.is_absolute() && is_there(name)) return name;
    std::vector<std::string> tried;
    for (const fs::path& base :
         {list.parent_path(), fs::path(yaml_.path).is_absolute() ? fs::path(yaml_.path) : folder_ / yaml_.path, folder_,
          fs::path()}) {
      const fs::path path = (base / name.relative_path()).lexically_normal();
      if (is_there(path)) return path;
      tried.push_back(printable(path.string(), 1000));
    }
    throw DataError(list.string() + ":" + std::to_string(line) + ": the picture " + in_quotes(name.string()) +
                    " is not there; tried\n  " + join(tried, "\n  "));
  }

  void add(const fs::path& picture, std::vector<ListedPicture>& out) {
    if (!seen_.insert(picture.string()).second) {
      ++repeated_;
      return;
    }
    out.push_back({picture.string(), label_file_of(picture)});
  }

  const DataYaml& yaml_;
  std::string file_;
  fs::path folder_;
  ReadContext& context_;
  std::set<std::string> seen_;
  std::size_t repeated_ = 0;  ///< pictures that an earlier place has, too
};

}  // namespace

std::vector<ListedPicture> listed_pictures(const DataYaml& yaml, const std::string& file, const std::string& split,
                                           ReadContext& context) {
  if (yaml.splits.empty()) {
    throw DataError(file + ": expected \"train\", \"val\" or \"test\" with the places of pictures, found none of them");
  }
  context.split_used = true;
  Lister lister(yaml, file, context);
  std::vector<ListedPicture> out;
  std::vector<std::string> names;
  bool found = false;
  for (const DataYaml::Split& part : yaml.splits) {
    names.push_back(part.name);
    if (!split.empty() && part.name != split) continue;
    found = true;
    std::vector<ListedPicture> pictures = lister.list(part);
    out.insert(out.end(), pictures.begin(), pictures.end());
  }
  if (!found) throw DataError(file + ": expected the split " + in_quotes(split) + ", found " + join(names));
  return out;
}

std::string listed_place(const DataYaml& yaml, const std::string& file, const std::string& place,
                         const std::string& what, ReadContext& context) {
  return Lister(yaml, file, context).place(place, what);
}

std::string pictures_of_labels(const std::string& path) {
  if (!is_crowds_yaml(path)) return {};
  std::ifstream in = open_input(path);
  const DataYaml yaml = read_data_yaml(in, path);
  if (yaml.image_dir.empty()) return {};
  const ReadOptions options;
  ProblemLog strict(ProblemLog::Mode::strict);
  CrowdBuilder builder(options.role, strict, false);
  ReadContext context(options, builder);
  try {
    return listed_place(yaml, path, yaml.image_dir, "image_dir", context);
  } catch (const DataError&) {
    return {};  // whoever reads the labels says so
  }
}

}  // namespace bdc
