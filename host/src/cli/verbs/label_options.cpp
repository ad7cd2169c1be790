#include "cli/verbs/label_options.h"

#include <filesystem>
#include <iostream>

#include "bdc/base/text.h"

namespace bdc::host {
namespace {

/// The options and the place where reading leaves its notes.
struct Reading {
  ReadOptions options;
  std::vector<std::string> notes;
};

struct SourceOfNames {
  const char* name;
  AnnotatorFrom from;
};
constexpr SourceOfNames sources_of_names[] = {{"assignee", AnnotatorFrom::assignee},
                                              {"file", AnnotatorFrom::file},
                                              {"folder", AnnotatorFrom::folder},
                                              {"key", AnnotatorFrom::key}};

std::shared_ptr<ReadOptions> add_reading_options(Command& verb, const char* format_flag) {
  const auto reading = std::make_shared<Reading>();
  reading->options.notes = &reading->notes;
  const std::shared_ptr<ReadOptions> options(reading, &reading->options);
  verb.add_option(format_flag, options->format, "format of the labels; detected when left out")
      .type_name("NAME")
      .one_of(names_of_formats(false));
  verb.add_option("--sizes", options->sizes_csv, "image sizes: a CSV of image,width,height").type_name("FILE");
  verb.add_option("--image-folder", options->image_folder, "image sizes: from the image files in this folder")
      .type_name("DIR");
  verb.add_option("--class-names", options->class_names, "classes.txt or data.yaml").type_name("FILE");
  verb.add_flag("--voc-one-based", options->voc_one_based, "Pascal VOC pixels count from 1");
  return options;
}

}  // namespace

std::vector<std::string> names_of_formats(bool writable_only) {
  std::vector<std::string> names;
  for (const auto& format : crowd_formats()) {
    if (format.can_write || !writable_only) names.push_back(format.name);
  }
  return names;
}

bool extension_tells_format(const std::string& path) {
  const std::string extension = lower_case(std::filesystem::path(path).extension().string());
  return extension == ".json" || extension == ".csv";
}

std::shared_ptr<ReadOptions> add_label_options(Command& verb, const char* format_flag) {
  auto options = add_reading_options(verb, format_flag);
  verb.add_option("--annotator", options->annotator, "who drew the boxes, if the files do not say").type_name("NAME");
  verb.add_option_handler(
          "--annotator-from",
          [options](const std::string& name) {
            for (const SourceOfNames& row : sources_of_names) {
              if (name == row.name) options->annotator_from = row.from;
            }
          },
          "where names come from: assignee, file, folder or key; default: found")
      .type_name("WHAT")
      .one_of([] {
        std::vector<std::string> names;
        for (const SourceOfNames& row : sources_of_names) names.emplace_back(row.name);
        return names;
      }());
  verb.add_option("--annotator-key", options->annotator_key,
                  "the member of annotations that names who drew (COCO, VIA, FiftyOne)")
      .type_name("NAME");
  verb.add_flag("--shapes-to-boxes", options->shapes_to_boxes, "take the boxes around polygons, ellipses and masks");
  verb.add_option("--columns", options->columns,
                  "a CSV's columns: image, annotator, class, x1, y1, x2, y2, ...; of VIA: class")
      .type_name("NAME=TITLE,...")
      .check([](const std::string& text) {
        const bool named = text.find('=') != std::string::npos && text[0] != '=';
        return named ? std::string() : "expected NAME=TITLE,..., found " + in_quotes(text);
      });
  verb.add_option("--split", options->split, "read only this part of the data: train, val or test")
      .type_name("NAME")
      .one_of({"train", "val", "test"});
  return options;
}

void print_notes(const ReadOptions& options) {
  if (options.notes == nullptr) return;
  for (const std::string& note : *options.notes) std::cerr << "note: " << note << "\n";
  options.notes->clear();
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

std::string format_lines(const std::string& title, bool writable_only) {
  std::string out, line = title + ":";
  for (const std::string& name : names_of_formats(writable_only)) {
    const bool first = line.back() == ':' && out.empty();
    if (line.size() + name.size() > 100) {
      out += line + ",\n";
      line = " ";
    }
    line += (first || line == " " ? " " : ", ") + name;
  }
  return out + line;
}

}  // namespace bdc::host
