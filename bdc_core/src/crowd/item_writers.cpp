#include "crowd/item_writers.h"

#include <cerrno>
#include <system_error>
#include <unordered_set>

#include "base/files.h"
#include "crowd/coco_record.h"
#include "crowd/folder_dataset.h"

namespace bdc {

std::vector<std::string> item_names(const CrowdData& data) {
  std::unordered_set<std::string> taken;
  std::vector<std::string> names(data.images.size());
  const auto take = [&](std::size_t i, std::string name) {
    while (!taken.insert(name).second) name += " (id)";
    names[i] = std::move(name);
  };
  // File names first, so that an id that looks like one gives way.
  std::unordered_set<std::string> stems;
  bool unique = true;
  for (const ImageRecord& image : data.images) {
    if (!image.file.empty()) unique = stems.insert(without_extension(image.file)).second && unique;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& file = data.images[i].file;
    if (!file.empty()) take(i, unique ? without_extension(file) : file);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (data.images[i].file.empty()) take(i, data.images[i].id.text);
  }
  return names;
}

void write_item_sizes(const std::string& path, const CrowdData& data, const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) files.push_back(to_file_name(name));
  write_sizes_csv(path, data, files);
}

bool write_by_annotator(const CrowdData& data, const std::string& folder,
                        const std::function<void(const std::string&, const std::vector<SeenImage>&)>& write) {
  std::vector<std::vector<SeenImage>> seen(data.annotators.size());
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    for_each_assignment(data, i, [&](std::int32_t annotator, const std::vector<std::size_t>& rows) {
      seen[static_cast<std::size_t>(annotator)].push_back({i, rows});
    });
  }
  bool any = false;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    if (seen[k].empty()) continue;
    any = true;
    const std::string own = join(folder, to_file_name(data.annotators[k].id.text));
    make_folder(own);
    write(own, seen[k]);
  }
  return any;
}

ItemFile::ItemFile(const std::string& path) : path_(path), out_(path, std::ios::binary), json_(out_) {}

void ItemFile::close() {
  json_.flush();
  errno = 0;
  out_ << '\n';
  out_.close();
  if (!out_) throw std::system_error(errno, std::generic_category(), path_ + ": cannot be written");
}

FiftyOneLabels::FiftyOneLabels(const std::string& path, const CrowdData& data) : ItemFile(path), data_(data) {
  json_.begin_object().key("classes").begin_array();
  for (const ClassRecord& record : data.classes) json_.string(record.name);
  json_.end_array().new_line().key("labels").begin_object();
}

void FiftyOneLabels::begin_image(const std::string& name) {
  json_.new_line().key(name).begin_array();
}

bool FiftyOneLabels::box(const ImageRecord& image, const Box& box, std::int32_t label,
                         std::optional<double> confidence) {
  if (image.width == 0) return false;
  const double width = image.width, height = image.height;
  json_.begin_object().key("label").string(data_.classes[static_cast<std::size_t>(label)].name);
  json_.key("bounding_box").begin_array().number(box.x1 / width).number(box.y1 / height);
  json_.number(box.width() / width).number(box.height() / height).end_array();
  if (confidence) json_.key("confidence").number(*confidence);
  json_.end_object();
  return true;
}

void FiftyOneLabels::end_image() {
  json_.end_array();
}

void FiftyOneLabels::finish() {
  json_.new_line().end_object().end_object();
  close();
}

DatumaroItems::DatumaroItems(const std::string& path, const CrowdData& data) : ItemFile(path) {
  json_.begin_object().key("dm_format_version").string("1.0").key("media_type").integer(2);  // images
  json_.key("infos").begin_object().end_object();
  json_.new_line().key("categories").begin_object().key("label").begin_object().key("labels").begin_array();
  for (const ClassRecord& record : data.classes) {
    json_.begin_object().key("name").string(record.name).key("parent").string("");
    json_.key("attributes").begin_array().end_array().end_object();
  }
  json_.end_array().key("attributes").begin_array().end_array().end_object().end_object();
  json_.new_line().key("items").begin_array();
}

void DatumaroItems::begin_image(const std::string& name) {
  json_.new_line().begin_object().key("id").string(name).key("annotations").begin_array();
}

void DatumaroItems::box(const Box& box, std::int32_t label, std::optional<double> score) {
  json_.begin_object().key("id").integer(next_++).key("type").string("bbox");
  json_.key("attributes").begin_object();
  if (score) json_.key("score").number(*score);
  json_.end_object().key("group").integer(0).key("label_id").integer(label).key("z_order").integer(0);
  write_bbox(json_, box);
  json_.end_object();
}

void DatumaroItems::end_image(const ImageRecord& image) {
  json_.end_array().key("attr").begin_object().end_object().key("image").begin_object();
  json_.key("path").string(image.file);
  if (image.width > 0) json_.key("size").begin_array().integer(image.height).integer(image.width).end_array();
  json_.end_object().end_object();
}

void DatumaroItems::finish() {
  json_.new_line().end_array().end_object();
  close();
}

}  // namespace bdc
