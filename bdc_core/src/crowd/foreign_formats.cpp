#include "crowd/foreign_formats.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

/// The start of a file in the ways that the rows below look at it.
struct Start {
  std::string name;       ///< lower case, without folders
  std::string extension;  ///< lower case, with the dot
  std::string text;
  char first = ' ';  ///< the first character that is not blank
  std::string line;  ///< the first line that is not blank, in lower case
  std::string next;  ///< the line after it

  [[nodiscard]] bool has(const char* part) const { return text.find(part) != std::string::npos; }
  [[nodiscard]] bool begins(std::string_view bytes) const { return text.compare(0, bytes.size(), bytes) == 0; }
  [[nodiscard]] bool is_json() const { return first == '{' || first == '['; }
  [[nodiscard]] bool line_has(const char* part) const { return line.find(part) != std::string::npos; }

  [[nodiscard]] std::vector<std::string_view> words(const char* between) const { return words_in(line, between); }
  [[nodiscard]] static std::vector<std::string_view> words_in(std::string_view rest, const char* between) {
    std::vector<std::string_view> out;
    while (!rest.empty() && out.size() < 32) {
      const std::size_t end = std::min(rest.find_first_of(between), rest.size());
      if (end > 0) out.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  }
};

bool are_numbers(const std::vector<std::string_view>& words, std::size_t from, std::size_t to) {
  for (std::size_t n = from; n < to; ++n) {
    if (n >= words.size() || !parse_real(trimmed(words[n]))) return false;
  }
  return true;
}

/// Whether these numbers are all at most 1.
bool at_most_one(const std::vector<std::string_view>& words, std::size_t from, std::size_t to) {
  return std::all_of(words.begin() + static_cast<std::ptrdiff_t>(from), words.begin() + static_cast<std::ptrdiff_t>(to),
                     [](std::string_view word) { return parse_real(trimmed(word)).value_or(2) <= 1; });
}

/// Whether the fifth of five values is a text in quotes.
bool ends_in_quotes(const std::vector<std::string_view>& words) {
  return words.size() >= 5 && are_numbers(words, 0, 4) && trimmed(words[4]).substr(0, 1) == "\"";
}

struct Foreign {
  bool (*looks_like)(const Start& start);
  const char* what;
};

constexpr Foreign table[] = {
    // JSON
    {[](const Start& s) { return s.is_json() && s.has("\"bdc_annotators\""); },
     "what `aggregate --annotators` wrote about annotators; expected labels"},
    {[](const Start& s) { return s.first == '[' && s.has("\"bbox_mode\"") && s.has("\"annotations\""); },
     "a list of Detectron2's dicts; write it as COCO first (detectron2.data.datasets.coco.convert_to_coco_json)"},
    {[](const Start& s) {
       return s.first == '[' && s.has("\"image_id\"") && s.has("\"category_id\"") && s.has("\"score\"");
     },
     "a list of a detector's results (COCO); expected labels. Results go into `aggregate --predictions` or `eval`"},
    {[](const Start& s) { return s.first == '[' && s.has("\"image_id\"") && s.has("\"category_id\""); },
     "a list of COCO annotations alone; expected the whole COCO object, with images and categories"},
    {[](const Start& s) { return s.is_json() && s.has("\"vid_list\"") && s.has("\"project\""); },
     "a project of VIA 3, of which only VIA 2's form is read; in VIA 3 export as COCO"},
    {[](const Start& s) {
       return s.is_json() && (s.has("\"visitedFrames\"") || s.has("\"tagColors\"") || s.has("\"securityToken\""));
     },
     "a VoTT project; export it from VoTT as Pascal VOC"},
    {[](const Start& s) { return s.first == '{' && s.has("\"asset\"") && s.has("\"regions\""); },
     "a picture's file of a VoTT project; export the project from VoTT as Pascal VOC"},
    {[](const Start& s) {
       return s.first == '{' && s.has("\"data_format_version\"") && (s.has("\"metadata\"") || s.has("\"project\""));
     },
     "a project of VIA 3, which is not read; export it from VIA as COCO, or label with VIA 2"},
    {[](const Start& s) {
       return s.first == '{' && s.has("\"annotations\"") && (s.has("\"itemMetadata\"") || s.has("\"datasetId\""));
     },
     "Dataloop's JSON; export as COCO instead"},
    {[](const Start& s) { return s.is_json() && s.has("\"coordinates\"") && s.has("\"annotations\""); },
     "Apple's CreateML; export as COCO or Pascal VOC instead"},
    {[](const Start& s) { return s.is_json() && s.has("\"data_row\""); },
     "an export of Labelbox; convert it to COCO first"},
    {[](const Start& s) { return s.is_json() && s.has("\"box2d\""); }, "BDD100K's JSON; convert it to COCO first"},
    {[](const Start& s) { return s.first == '{' && s.has("\"bounding_box\""); },
     "JSON of V7 Darwin; export as COCO or CVAT instead"},
    {[](const Start& s) { return s.first == '{' && s.has("\"instances\"") && s.has("\"className\""); },
     "SuperAnnotate's JSON; export as COCO instead"},
    {[](const Start& s) { return s.first == '{' && s.has("\"imgHeight\"") && s.has("\"objects\""); },
     "the JSON of Cityscapes; convert it to COCO first"},
    {[](const Start& s) {
       return s.first == '{' && s.has("\"completed_by\"") && (s.has("\"result\"") || s.has("\"annotations\""));
     },
     "a task or an annotation alone, as Label Studio's storage and API give them; export the project as JSON"},
    {[](const Start& s) { return s.first == '{' && s.has("\"gtboxes\""); },
     "CrowdHuman's odgt; convert it to COCO first"},
    {[](const Start& s) { return s.is_json() && s.has("\"task_id\"") && s.has("\"response\""); },
     "tasks of Scale AI; convert them to COCO first"},
    {[](const Start& s) { return s.first == '{' && s.has("\"imageGcsUri\""); },
     "an import file of Google's Vertex AI; convert it to COCO first"},
    {[](const Start& s) {
       return s.first == '[' && s.has("\"shapes\"") && s.has("\"frame\"") && (s.has("\"tags\"") || s.has("\"tracks\""));
     },
     "the annotations in a backup of CVAT; export the task as \"CVAT for images 1.1\" instead"},
    {[](const Start& s) { return s.first == '{' && s.has("\"bug_tracker\"") && s.has("\"jobs\""); },
     "the description of a task in a backup of CVAT; export the task as \"CVAT for images 1.1\" instead"},
    {[](const Start& s) { return s.is_json() && s.has("\"joints_vis\""); },
     "MPII's poses, which have no boxes; expected labels with boxes, such as COCO"},
    {[](const Start& s) { return s.is_json() && s.has("\"detections\"") && s.has("\"conf\""); },
     "what MegaDetector found; expected what people labelled. Write it as a COCO results list for `aggregate "
     "--predictions`"},
    // JSON lines
    {[](const Start& s) { return s.first == '{' && s.has("\"spans\"") && s.has("\"image\""); },
     "JSON lines of Prodigy; convert them to COCO first, with an annotator_id on each annotation"},
    {[](const Start& s) { return s.first == '{' && s.has("\"topX\"") && s.has("\"bottomX\""); },
     "JSON lines of Azure Machine Learning, whose numbers are shares of the image; convert them to COCO first"},
    {[](const Start& s) {
       return s.first == '{' && s.extension == ".jsonl" && s.has("\"objects\"") && s.has("\"bbox\"");
     },
     "the metadata.jsonl of a data set of Hugging Face; convert it to COCO first"},
    {[](const Start& s) { return s.first == '{' && (s.extension == ".jsonl" || s.extension == ".ndjson"); },
     "JSON lines; of these only Ground Truth's manifests are read. Convert them to COCO first"},
    // XML
    {[](const Start& s) { return s.first == '<' && s.has("<dataset") && s.has("<images>") && s.has("<box "); },
     "XML of dlib's imglab; convert it to Pascal VOC or COCO first"},
    // Tables
    {[](const Start& s) { return s.line_has("classification_id") && s.line_has("subject_data"); },
     "an export of Zooniverse, whose drawings are JSON in a column; convert it to COCO first, with an annotator_id on "
     "each annotation"},
    {[](const Start& s) { return s.line_has("hitid") && s.line_has("workerid"); },
     "results of Mechanical Turk, whose answers are JSON in a column; convert them to COCO first, with an annotator_id "
     "on each annotation"},
    {[](const Start& s) { return s.line_has("boxesstring"); },
     "a table of Global Wheat, with all boxes of an image in one column; write a row for each box "
     "(image,x1,y1,x2,y2,class)"},
    {[](const Start& s) { return s.line_has("patientid") && s.line_has("target") && s.line_has("width"); },
     "a table of RSNA's; say what its columns are: --format csv --columns image=patientId,class=Target"},
    {[](const Start& s) {
       const auto words = s.words(",");
       if (words.size() < 3 || words[1].find("://") == std::string_view::npos) return false;
       return words[0] == "train" || words[0] == "validation" || words[0] == "test" || words[0] == "unassigned";
     },
     "a table of Google's AutoML, whose numbers are shares of the image; write a row for each box with the heading "
     "image,class,x1,y1,x2,y2 and read it with --columns unit=relative"},
    {[](const Start& s) {
       const auto words = s.words(",");
       return words.size() == 8 && are_numbers(words, 1, 5) && is_picture_name(trimmed(words[5])) &&
              are_numbers(words, 6, 8);
     },
     "a table of makesense.ai; give it a first line with the columns' titles: "
     "class,x,y,w,h,image,image_width,image_height"},
    {[](const Start& s) { return s.line_has("annotator") && (s.line_has("annotation_id") || s.line_has("lead_time")); },
     "a table of Label Studio; export the project as JSON instead"},
    {[](const Start& s) {
       const auto words = s.words(",");
       return words.size() == 6 && is_picture_name(trimmed(words[0])) && are_numbers(words, 1, 5);
     },
     "a table of boxes without a heading; give it a first line with the columns' titles, such as "
     "image,x1,y1,x2,y2,class"},
    {[](const Start& s) { return s.line_has("xmin") && s.line_has("ymin") && s.line_has(","); },
     "a table of boxes with titles of its own; name them: --format csv --columns "
     "image=TITLE,class=TITLE,annotator=TITLE,x1=TITLE,y1=TITLE,x2=TITLE,y2=TITLE"},
    {[](const Start& s) { return s.line_has("bbox") && s.line_has(",") && s.has("[") && s.extension == ".csv"; },
     "a table with all four numbers of a box in one column; write them into columns of their own (x,y,w,h or "
     "x1,y1,x2,y2)"},
    // Text
    {[](const Start& s) {
       const auto words = s.words(" \t");
       return s.line_has("imagesource:") || s.line_has("gsd:") ||
              (words.size() == 10 && are_numbers(words, 0, 8) && !parse_real(words[8]));
     },
     "DOTA's text with rotated boxes; convert it to COCO first"},
    {[](const Start& s) {
       const auto words = s.words(",");
       return (words.size() >= 9 && are_numbers(words, 0, 8) && !parse_real(trimmed(words[8]))) ||
              ends_in_quotes(words) || ends_in_quotes(s.words(" \t"));
     },
     "ICDAR's text, whose last column is what stands written in the picture and no class; convert it to COCO first"},
    {[](const Start& s) {
       return is_picture_name(s.line) && s.line.find(' ') == std::string::npos &&
              parse_integer(trimmed(s.next)).has_value();
     },
     "WIDER FACE's text; convert it to COCO first"},
    {[](const Start& s) {
       const auto words = s.words(" \t");
       return words.size() > 1 && is_picture_name(words[0]) && words[1].find(',') != std::string_view::npos;
     },
     "a list of pictures with their boxes, as programs for YOLO in Keras read it; convert it to COCO first"},
    {[](const Start& s) { return s.extension == ".txt" && is_picture_name(s.line); },
     "a list of pictures; expected their labels, or the data.yaml that names the list"},
    {[](const Start& s) { return s.extension == ".data" && s.line_has("="); },
     "darknet's list of places; expected the folder with the labels, or a data.yaml"},
    {[](const Start& s) {
       const auto words = s.words(" \t");
       return (words.size() == 15 || words.size() == 16) && !parse_real(words[0]) && are_numbers(words, 1, 15);
     },
     "KITTI's text; convert it to COCO or YOLO first"},
    {[](const Start& s) {
       const auto words = s.words(",");
       return words.size() == 8 && are_numbers(words, 0, 8);
     },
     "VisDrone's text (x,y,w,h,score,class,...); convert it to COCO first"},
    {[](const Start& s) { return parse_integer(trimmed(s.line)) && are_numbers(Start::words_in(s.next, " \t"), 0, 4); },
     "text of BBox-Label-Tool (a count, then x1 y1 x2 y2 class); convert it to COCO or YOLO first"},
    {[](const Start& s) {
       const auto words = s.words(" \t");
       return s.extension == ".txt" && words.size() == 5 && !parse_real(words[0]) && are_numbers(words, 1, 5) &&
              at_most_one(words, 1, 5);
     },
     "YOLO's text with names of classes; write their numbers from 0, and the names into classes.txt"},
    {[](const Start& s) {
       const auto words = s.words(" \t");
       return s.extension == ".txt" && (words.size() == 5 || words.size() == 6) && !parse_real(words[0]) &&
              are_numbers(words, 1, words.size());
     },
     "text with lines \"class x1 y1 x2 y2\"; write x1,y1,x2,y2,class,annotator with commas, or convert it to COCO"},
    {[](const Start& s) {
       const auto words = s.words(",");
       return words.size() >= 9 && words.size() <= 10 && are_numbers(words, 0, words.size());
     },
     "a table of the MOT challenge (frame,id,x,y,w,h,...); convert it to COCO first"},
    // Other files
    {[](const Start& s) { return s.name.find(".tfrecord") != std::string::npos || s.extension == ".record"; },
     "a TFRecord; convert it to COCO or Pascal VOC first"},
    {[](const Start& s) { return s.begins("\x89PNG") || s.begins("\xFF\xD8\xFF") || s.begins("GIF8"); },
     "a picture; expected its labels"},
    {[](const Start& s) { return s.begins("\x1F\x8B"); }, "a gzip file; unpack it first"},
    {[](const Start& s) { return s.begins("\xFF\xFE") || s.begins("\xFE\xFF"); }, "text in UTF-16; save it as UTF-8"},
    {[](const Start& s) { return s.begins("7z\xBC\xAF") || s.begins("Rar!") || s.extension == ".tar"; },
     "an archive; unpack it first, or pack it as a zip file"},
    {[](const Start& s) { return s.extension == ".xlsx" || s.extension == ".xls" || s.extension == ".ods"; },
     "a spreadsheet; save it as CSV first"},
    {[](const Start& s) { return s.begins("\x89HDF") || s.begins("MATLAB"); },
     "a file of numbers (HDF5 or MATLAB); save the labels as CSV or COCO first"},
    {[](const Start& s) { return s.begins("PAR1"); }, "a Parquet table; save it as CSV first"},
    {[](const Start& s) { return s.begins("SQLite format 3"); }, "an SQLite database; export its labels first"},
    {[](const Start& s) { return s.extension == ".pkl" || s.extension == ".pickle"; },
     "a Python pickle, which is a program and is never run; save the labels as COCO first"},
};

}  // namespace

bool is_picture_name(std::string_view name) {
  const std::string lower = lower_case(std::string(name));
  for (const char* extension : {".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp"}) {
    if (ends_with(lower, extension)) return true;
  }
  return false;
}

std::string foreign_format(const std::string& path) {
  if (!is_regular_file(path)) return {};
  std::ifstream in = open_input(path);
  Start start;
  start.text.resize(std::size_t{1} << 16);
  in.read(start.text.data(), static_cast<std::streamsize>(start.text.size()));
  start.text.resize(static_cast<std::size_t>(in.gcount()));
  start.name = lower_case(std::filesystem::path(path).filename().string());
  start.extension = std::filesystem::path(start.name).extension().string();
  std::string_view content = start.text;
  if (content.substr(0, 3) == "\xEF\xBB\xBF") content.remove_prefix(3);
  content = trimmed(content);
  if (!content.empty()) start.first = content.front();
  const std::size_t end = std::min(content.find_first_of("\r\n"), content.size());
  start.line = lower_case(content.substr(0, std::min(end, std::size_t{4096})));
  const std::string_view rest = trimmed(content.substr(end));
  start.next = rest.substr(0, std::min(rest.find_first_of("\r\n"), std::size_t{4096}));
  for (const Foreign& row : table) {
    if (row.looks_like(start)) return row.what;
  }
  return {};
}

}  // namespace bdc
