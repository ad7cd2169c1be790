// YOLO text: a folder per annotator, in it a file per image that the annotator saw, lines "class cx cy w h" relative to
// the image's size; an empty file is an image where nothing was drawn. Beside the folders: classes.txt or data.yaml,
// and sizes.csv (or the images themselves), since the sizes are not in the label files.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <unordered_set>

#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/box_around.h"
#include "crowd/data_yaml.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/label_tree.h"
#include "crowd/listed_pictures.h"
#include "crowd/whole_number.h"

namespace bdc {
namespace {

constexpr std::size_t max_file_size = std::size_t{1} << 28;

std::vector<std::string_view> words_of(std::string_view line, std::size_t limit) {
  std::vector<std::string_view> words;
  while (words.size() <= limit) {
    line = trimmed(line);
    if (line.empty()) break;
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

/// The box around "class x y x y x y ..." (a segment, or a rotated box of four corners); nothing when it is none.
std::optional<Box> box_of_segment(std::string_view line) {
  BoxAround around;
  double x = 0;
  bool half = false;
  bool first = true;
  while (!(line = trimmed(line)).empty()) {
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    line.remove_prefix(word.size());
    if (first) {
      first = false;
      continue;
    }
    const auto value = parse_real(word);
    if (!value || *value > 4) return std::nullopt;
    if (half) around.add(x, *value);
    x = *value;
    half = !half;
  }
  return half ? std::nullopt : around.box();
}

/// Whether a line looks like a box and key points of three numbers, the third of which says what is seen (0, 1, 2);
/// that of a polygon has an odd number of values and no 2 among them.
bool has_key_points(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line, 10000);
  if (words.size() < 8 || (words.size() - 5) % 3 != 0) return false;
  bool seen = words.size() % 2 == 0;
  for (std::size_t n = 7; n < words.size(); n += 3) {
    const auto value = parse_real(words[n]);
    if (!value || (*value != 0 && *value != 1 && *value != 2)) return false;
    seen = seen || *value == 2;
  }
  return seen;
}

/// The picture beside a label file gives the image its file name, below the folder that is read, and its size.
std::int32_t image_of_labels(const std::string& name, const std::string& image_name, ReadContext& context,
                             const RecordPlace& place) {
  const std::int32_t known = image_of(context, image_name, "", place);
  if (context.builder.has_size(known)) return known;
  const std::string picture = context.pictures.beside(name, true);
  const auto size = picture.empty() ? std::nullopt : Pictures::size_of(picture);
  if (!size) return known;
  context.builder.set_image_size(known, size->first, size->second, place);
  const std::string& root = context.paths[context.path];
  const std::string below = std::filesystem::path(picture).lexically_relative(root).string();
  context.builder.name_image_file(
      known, below.empty() || below.rfind("..", 0) == 0 ? std::filesystem::path(picture).filename().string() : below);
  return known;
}

void parse_lines(std::istream& in, const std::string& name, const std::string& image_name, std::int32_t image,
                 std::int32_t annotator, ReadContext& context);

/// Labels of one image by one annotator.
void parse_labels(std::istream& in, const std::string& name, const std::string& image_name,
                  const std::string& annotator_id, ReadContext& context) {
  CrowdBuilder& builder = context.builder;
  builder.begin_file(name);
  use_class_names(context, ClassKeys::index);
  const RecordPlace start = builder.place(0);
  const std::int32_t image = image_of_labels(name, image_name, context, start);
  const std::int32_t annotator = builder.mention_annotator(RecordId::untyped(annotator_id), "", start);
  builder.add_assignment(image, annotator, start);
  builder.assignments_are_known();
  parse_lines(in, name, image_name, image, annotator, context);
}

void parse_lines(std::istream& in, const std::string& name, const std::string& image_name, std::int32_t image,
                 std::int32_t annotator, ReadContext& context) {
  CrowdBuilder& builder = context.builder;
  const auto [width, height] = builder.size(image);

  const std::string text = read_all(in, name, max_file_size);
  if (!is_utf8(text)) throw DataError(name + ": expected text, found bytes that are not UTF-8");
  std::string_view rest = without_byte_order_mark(text);
  for (std::size_t line_number = 1; !rest.empty(); ++line_number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (line.empty()) continue;
    const RecordPlace place = builder.place(line_number);
    std::vector<std::string_view> words = words_of(line, 6 + context.key_numbers);
    if (context.key_numbers > 0 && words.size() == 5 + context.key_numbers) {
      words.resize(5);
      ++context.with_key_points;
    }
    if (words.size() > 6 && has_key_points(line)) {
      builder.report(
          ProblemKind::bad_record, place,
          "expected 5 values \"class cx cy w h\", found more, as of a box with key points (YOLO pose); "
          "expected a data.yaml beside the labels whose kpt_shape says how many, such as kpt_shape: [17, 3]");
      continue;
    }
    if (words.size() > 6) {
      if (const std::optional<Box> around = box_of_segment(line)) {
        const auto segment_label = whole_number(words[0]);
        if (!segment_label || *segment_label < 0) {
          builder.report(ProblemKind::bad_record, place,
                         "expected a class number from 0, found " + in_quotes(words[0]));
        } else if (context.takes_shape(place, "a polygon") && width > 0) {
          builder.add_box(image, label_of(context, std::to_string(*segment_label), ClassKeys::index, place), annotator,
                          {around->x1 * width, around->y1 * height, around->x2 * width, around->y2 * height}, place);
        }
        continue;
      }
    }
    if (words.size() != 5) {
      const char* hint = words.size() > 6    ? " (polygons and other shapes are not boxes)"
                         : words.size() == 6 ? " (a sixth number is a detector's score, not an annotation)"
                                             : "";
      builder.report(ProblemKind::bad_record, place,
                     "expected 5 values \"class cx cy w h\", found " +
                         (words.size() > 6 ? std::string("more than 6") : std::to_string(words.size())) + hint);
      continue;
    }
    const auto label = whole_number(words[0]);
    if (!label || *label < 0) {
      builder.report(ProblemKind::bad_record, place, "expected a class number from 0, found " + in_quotes(words[0]));
      continue;
    }
    std::array<double, 4> number{};
    bool good = true;
    for (std::size_t i = 0; i < 4 && good; ++i) {
      const auto value = parse_real(words[i + 1]);
      number[i] = value.value_or(0);
      if (!value) {
        builder.report(ProblemKind::bad_record, place, "expected a number, found " + in_quotes(words[i + 1]));
        good = false;
      }
    }
    if (good && number[2] > 4 && number[3] > 4) {
      builder.report(ProblemKind::bad_record, place,
                     "expected numbers relative to the image's size (about 0 to 1), found a width of " +
                         std::string(words[3]) + "; are these pixels?");
      good = false;
    }
    if (!good) continue;
    if (width == 0) {
      builder.report(
          ProblemKind::bad_record, place,
          "the size of image " + in_quotes(image_name) +
              " is unknown; expected its picture beside the labels, or --image-folder DIR with the pictures, "
              "or --sizes FILE (image,width,height)");
      continue;
    }
    const auto [cx, cy, w, h] = number;
    builder.add_box(image, label_of(context, std::to_string(*label), ClassKeys::index, place), annotator,
                    {(cx - w / 2) * width, (cy - h / 2) * height, (cx + w / 2) * width, (cy + h / 2) * height}, place);
  }
}

/// One file alone: the annotator is the folder it lies in.
void parse_yolo(std::istream& in, const std::string& name, ReadContext& context) {
  const std::string& given = context.options.annotator;
  parse_labels(in, name, from_file_name(file_stem(name)), given.empty() ? from_file_name(parent_name(name)) : given,
               context);
}

/// The label files below a folder.
std::vector<std::string> label_files(const std::string& folder) {
  std::vector<std::string> out;
  for (std::string& file : files_below(folder, {".txt"})) {
    if (!is_no_label_file(file)) out.push_back(std::move(file));
  }
  return out;
}

/// The list of classes may lie in an annotator's folder, where labelling programs put it.
void load_class_names_below(const std::string& path, ReadContext& context) {
  for (const std::string& folder : folders_in(path)) {
    guarded(context, [&] { load_class_names(folder, context); });
  }
}

void take_key_points(std::size_t numbers, const std::string& file, ReadContext& context) {
  if (numbers == 0) return;
  if (context.key_numbers != 0 && context.key_numbers != numbers) {
    throw DataError(file + ": expected the kpt_shape of the data.yaml before, found another; read them one by one");
  }
  context.key_numbers = numbers;
}

/// What a data.yaml in the folder, or in an annotator's, says of key points.
void load_key_points(const std::string& path, ReadContext& context) {
  std::vector<std::string> folders = folders_in(path);
  folders.insert(folders.begin(), path);
  for (const std::string& folder : folders) {
    for (const char* name : {"data.yaml", "data.yml"}) {
      const std::string file = join(folder, name);
      if (!is_regular_file(file)) continue;
      guarded(context, [&] {
        std::ifstream in = open_input(file);
        take_key_points(read_data_yaml(in, file).key_numbers, file, context);
      });
    }
  }
}

void tell_key_points(ReadContext& context) {
  if (context.with_key_points == 0) return;
  context.note(counted(context.with_key_points, "box has", "boxes have") +
               " key points (kpt_shape), which are left out; the boxes are read");
}

/// A data.yaml: the pictures that it names, with the label files that belong to them.
void read_yaml(const std::string& path, ReadContext& context) {
  CrowdBuilder& builder = context.builder;
  std::ifstream in = open_input(path);
  DataYaml yaml = read_data_yaml(in, path);
  take_key_points(yaml.key_numbers, path, context);
  if (yaml.has_names) {
    take_class_names(std::move(yaml.names), path, context);
  } else if (!context.class_names_known) {
    throw DataError(path + ": expected the key \"names\" with the class names, found none");
  }
  const std::vector<ListedPicture> pictures = listed_pictures(yaml, path, context.options.split, context);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::unordered_set<std::string> names;
  bool repeat = false;
  for (const ListedPicture& listed : pictures) repeat = repeat || !names.insert(file_stem(listed.picture)).second;
  const std::string annotator_id = context.source_annotator();
  builder.begin_file(path);
  use_class_names(context, ClassKeys::index);
  std::vector<std::string> files, image_names;
  for (const ListedPicture& listed : pictures) {
    const std::string below =
        std::filesystem::path(listed.picture).lexically_relative(folder.empty() ? "." : folder).string();
    const bool inside = !below.empty() && below.rfind("..", 0) != 0;
    files.push_back(inside ? below : std::filesystem::absolute(listed.picture).lexically_normal().string());
    image_names.push_back(repeat ? without_extension(files.back()) : file_stem(files.back()));
  }
  std::vector<std::string*> to_tie;
  for (std::string& name : image_names) to_tie.push_back(&name);
  tie_versions(annotator_id, to_tie, context);
  for (std::size_t n = 0; n < pictures.size(); ++n) {
    guarded(context, [&] {
      const ListedPicture& listed = pictures[n];
      const std::string &file = files[n], &image_name = image_names[n];
      const bool labelled = is_regular_file(listed.label_file);
      builder.begin_file(labelled ? listed.label_file : listed.picture);
      const RecordPlace place = builder.place(0);
      const std::int32_t image = builder.mention_image(RecordId::untyped(image_name), file, place);
      if (const auto size = Pictures::size_of(listed.picture); size && !builder.has_size(image)) {
        builder.set_image_size(image, size->first, size->second, place);
      }
      const std::int32_t annotator = builder.mention_annotator(RecordId::untyped(annotator_id), "", place);
      builder.add_assignment(image, annotator, place);
      builder.assignments_are_known();
      if (!labelled) return;
      std::ifstream labels = open_input(listed.label_file);
      parse_lines(labels, listed.label_file, image_name, image, annotator, context);
    });
  }
}

void read_yolo(const std::string& path, ReadContext& context) {
  if (is_yaml_name(path) && !is_folder(path)) {
    guarded(context, [&] { read_yaml(path, context); });
    return;
  }
  if (!is_folder(path)) {
    read_one_file(path, context, parse_yolo);
    return;
  }
  guarded(context, [&] { load_sidecars(path, context, ClassKeys::index); });
  load_class_names_below(path, context);
  load_key_points(path, context);
  for (const AnnotatorFiles& part : label_tree(path, label_files(path), context)) {
    for (const LabelFile& file : part.files) {
      guarded(context, [&] {
        std::ifstream in = open_input(file.path);
        parse_labels(in, file.path, file.image, part.annotator, context);
      });
    }
  }
}

/// A folder with label files below it, the first line of one of the first of which is five numbers.
bool looks_like_yolo(const std::string& path) {
  if (!is_folder(path)) return is_yaml_name(path) && !is_crowds_yaml(path);
  const std::vector<std::string> files = label_files(path);
  std::size_t looked = 0;
  for (const std::string& file : files) {
    std::ifstream in = open_input(file);
    std::string head(4096, '\0');
    in.read(head.data(), static_cast<std::streamsize>(head.size()));
    head.resize(static_cast<std::size_t>(in.gcount()));
    const std::string_view content = trimmed(without_byte_order_mark(head));
    if (content.empty()) continue;
    const auto words = words_of(content.substr(0, content.find('\n')), 10);
    if (words.size() == 10 && !parse_real(words[8])) return false;   // DOTA's: four corners, a name and a difficulty
    if (words.size() >= 5 && words[4].front() == '"') return false;  // ICDAR's: corners and what stands written there
    if (words.size() >= 5 && whole_number(words[0]).has_value() && parse_real(words[1]).has_value()) return true;
    if (++looked == 20) return false;
  }
  return !files.empty() && looked == 0 && is_regular_file(join(path, "classes.txt"));
}

void write_yolo(const CrowdData& data, const std::string& path, WriteReport& report) {
  const std::vector<std::string> names = label_names(data);
  AtomicFolder folder(path);
  write_sizes_csv(join(folder.path(), "sizes.csv"), data, names);
  write_class_names(join(folder.path(), "classes.txt"), data, report);
  std::vector<std::string> folders;
  for (const AnnotatorRecord& annotator : data.annotators) {
    folders.push_back(join(folder.path(), to_file_name(annotator.id.text)));
  }
  std::vector<char> made(folders.size(), 0);
  std::size_t sizeless = 0;
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const double width = data.images[i].width, height = data.images[i].height;
    for_each_assignment(data, i, [&](std::int32_t annotator, const std::vector<std::size_t>& rows) {
      std::string text;
      if (!(width > 0)) sizeless += rows.size();
      for (const std::size_t n : rows) {
        if (!(width > 0)) break;
        const Annotation& a = data.annotations[n];
        text += std::to_string(a.label);
        for (const double value : {(a.box.x1 + a.box.x2) / 2 / width, (a.box.y1 + a.box.y2) / 2 / height,
                                   a.box.width() / width, a.box.height() / height}) {
          text += ' ';
          append_shortest_decimal(text, value);
        }
        text += '\n';
      }
      const auto k = static_cast<std::size_t>(annotator);
      if (made[k] == 0) make_folder(folders[k]);
      made[k] = 1;
      write_text_file(join(folders[k], names[i] + ".txt"), text);
    });
  }
  add_loss(report, "boxes of images without a size", sizeless);
  add_folder_name_loss(data, report);
  add_annotator_folder_losses(data, 0, true, report);
  folder.commit();
}

}  // namespace

CrowdFormat yolo_format() {
  CrowdFormat row = {"yolo",          "YOLO text, one folder per annotator, lines class cx cy w h",
                     looks_like_yolo, parse_yolo,
                     read_yolo,       tell_key_points,
                     write_yolo};
  row.takes.class_names = true;
  return row;
}

}  // namespace bdc
