#include "cli/verbs/label_options.h"

#include <algorithm>
#include <filesystem>

#include "bdc/base/text.h"

namespace bdc::host {
namespace {

std::vector<std::string> names_of_formats(bool writable_only) {
  std::vector<std::string> names;
  for (const auto& format : crowd_formats()) {
    if (format.can_write || !writable_only) names.push_back(format.name);
  }
  return names;
}

std::shared_ptr<ReadOptions> add_reading_options(Command& verb, const char* format_flag) {
  auto options = std::make_shared<ReadOptions>();
  verb.add_option(format_flag, options->format, "format of the labels; detected when left out")
      .type_name("NAME")
      .check(known_format(false));
  verb.add_option("--sizes", options->sizes_csv, "image sizes: a CSV of image,width,height").type_name("FILE");
  verb.add_option("--image-folder", options->image_folder, "image sizes: from the image files in this folder")
      .type_name("DIR");
  verb.add_option("--class-names", options->class_names, "classes.txt or data.yaml").type_name("FILE");
  verb.add_flag("--voc-one-based", options->voc_one_based, "Pascal VOC pixels count from 1");
  return options;
}

}  // namespace

std::function<std::string(const std::string&)> known_format(bool writable_only) {
  return [writable_only](const std::string& name) {
    const auto names = names_of_formats(writable_only);
    if (std::find(names.begin(), names.end(), name) != names.end()) return std::string();
    return std::string(writable_only ? "no format that can be written is called '" : "no format is called '") +
           printable(name) + "'; known: " + join(names);
  };
}

bool extension_tells_format(const std::string& path) {
  const std::string extension = lower_case(std::filesystem::path(path).extension().string());
  return extension == ".json" || extension == ".csv";
}

std::shared_ptr<ReadOptions> add_label_options(Command& verb, const char* format_flag) {
  auto options = add_reading_options(verb, format_flag);
  verb.add_option("--annotator", options->annotator, "who drew the boxes, if the files do not say").type_name("NAME");
  return options;
}

std::shared_ptr<ReadOptions> add_truth_options(Command& verb) {
  auto options = add_reading_options(verb, "--format");
  options->role = BoxRole::truth;
  return options;
}

std::vector<std::string> files_of(const ReadOptions& options) {
  return {options.sizes_csv, options.class_names};
}

std::string format_names(bool writable_only) {
  return join(names_of_formats(writable_only));
}

}  // namespace bdc::host
