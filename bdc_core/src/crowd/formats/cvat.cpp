// CVAT XML ("CVAT for images 1.1" and "CVAT for video 1.1"), one file per annotator or job. A frame of a video is an
// image. The annotator is the assignee of the job or task
// that <meta> names, otherwise the file's name. An <image> without boxes was seen and nothing was drawn. Images are
// known by their names; their numbers are kept as ids where all files agree.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/box_around.h"
#include "crowd/coco_record.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/person_members.h"
#include "crowd/xml_file.h"

namespace bdc {
namespace {

class CvatFileReader {
 public:
  CvatFileReader(XmlFile& xml, ReadContext& context) : xml_(xml), context_(context), builder_(context.builder) {}

  void read() {
    const pugi::xml_node root = xml_.root();
    if (std::string_view(root.name()) != "annotations") {
      xml_.fail(root,
                "expected CVAT XML with the root <annotations>, found <" + printable(shorten(root.name(), 40)) + ">");
    }
    // Some exports have the images' folders in their names and some have not.
    if (context_.sources.size() > 1) builder_.files_have_own_ids(true, false);
    builder_.expect_one_assignment_each();
    builder_.begin_file(xml_.name());
    annotator_key_ = context_.options.annotator_key;
    if (annotator_key_.rfind("attributes.", 0) == 0) annotator_key_.erase(0, 11);
    const pugi::xml_node meta = root.child("meta");
    const pugi::xml_node about = meta.child("job")       ? meta.child("job")
                                 : meta.child("task")    ? meta.child("task")
                                 : meta.child("project") ? meta.child("project")
                                                         : meta;
    read_labels(about.child("labels") ? about.child("labels") : meta.child("task").child("labels"));
    if (annotator_key_.empty()) builder_.assignments_are_known();
    const RecordPlace place = builder_.place(xml_.line(root));
    if (!annotator_key_.empty()) {
      // Each box names who drew it.
    } else if (meta.child("project")) {
      read_tasks(meta.child("project").child("tasks"), root, place);
    } else {
      whole_ = builder_.mention_annotator(RecordId::untyped(annotator_id(meta)), "", place);
    }
    name_frames(meta, about);
    find_subsets(root);
    for (const pugi::xml_node image : root.children("image")) read_image(image, annotator_of(image, place));
    if (root.child("track") && root.child("image")) {
      xml_.fail(root.child("track"), "expected \"CVAT for images\" or \"CVAT for video\", found <image> and <track>");
    }
    if (root.child("track")) read_videos(meta, about, root, place);
    tell_authors();
  }

 private:
  std::string checked(const pugi::xml_node& node, const char* text) {
    if (!is_utf8(text)) xml_.fail(node, "expected text in UTF-8, found other bytes");
    return text;
  }

  /// The user name of a job's or task's assignee; empty when nobody is.
  std::string assignee_of(const pugi::xml_node& about) {
    const pugi::xml_node assignee = about.child("assignee");
    for (const pugi::xml_node& node : {assignee.child("username"), assignee}) {
      std::string id(trimmed(checked(node, node.child_value())));
      if (!id.empty()) return id;
    }
    return {};
  }

  std::string annotator_id(const pugi::xml_node& meta) {
    const AnnotatorFrom from = context_.options.annotator_from;
    if (!context_.options.annotator.empty()) return context_.options.annotator;
    if (from == AnnotatorFrom::automatic || from == AnnotatorFrom::assignee) {
      for (const char* about : {"job", "task"}) {
        std::string id = assignee_of(meta.child(about));
        if (!id.empty()) return id;
      }
    }
    if (from == AnnotatorFrom::assignee) {
      xml_.fail(meta, "expected a job or task with an assignee, found none; leave out --annotator-from assignee");
    }
    return context_.source_annotator();
  }

  /// A project: each task's assignee drew in the images of the task. Tasks without one are told apart by their names
  /// when they show the same images, and otherwise are all one annotator's.
  void read_tasks(const pugi::xml_node& tasks, const pugi::xml_node& root, const RecordPlace& place) {
    const AnnotatorFrom from = context_.options.annotator_from;
    const bool by_path = from == AnnotatorFrom::file || from == AnnotatorFrom::folder;
    if (by_path || !context_.options.annotator.empty()) {
      whole_ = builder_.mention_annotator(RecordId::untyped(context_.source_annotator()), "", place);
      return;
    }
    bool repeats = false;
    std::unordered_set<std::string> names;
    for (const pugi::xml_node image : root.children("image")) {
      repeats = repeats || !names.insert(image.attribute("name").value()).second;  // frames of two videos do no harm
    }
    std::size_t unassigned = 0;
    for (const pugi::xml_node task : tasks.children("task")) {
      const std::string id(trimmed(task.child_value("id")));
      std::string who = assignee_of(task);
      if (who.empty() && from == AnnotatorFrom::assignee) {
        xml_.fail(task, "expected a task with an assignee, found none; leave out --annotator-from assignee");
      }
      if (who.empty()) {
        if (!repeats) continue;
        ++unassigned;
        who = std::string(trimmed(checked(task, task.child_value("name"))));
        if (who.empty()) who = "task " + id;
      }
      tasks_[id] = builder_.mention_annotator(RecordId::untyped(who), "", place);
    }
    if (unassigned > 0) {
      context_.note(xml_.name() + ": " + counted(unassigned, "task") +
                    " without an assignee; who drew there is named after the task");
    }
  }

  /// What stands before the names of a video's frames: every video has a frame_000000.
  std::string prefix_of(const pugi::xml_node& source_of) {
    const std::string source = checked(source_of, source_of.child_value("source"));
    return source.empty() ? std::string() : without_extension(source) + "/";
  }

  void name_frames(const pugi::xml_node& meta, const pugi::xml_node& about) {
    const auto is_video = [](const pugi::xml_node& task) {
      return trimmed(task.child_value("mode")) == "interpolation";
    };
    const pugi::xml_node tasks = meta.child("project").child("tasks");
    for (const pugi::xml_node task : tasks.children("task")) {
      if (!is_video(task)) continue;
      std::string prefix = prefix_of(task);
      if (prefix.empty()) prefix = checked(task, task.child_value("name")) + "/";
      frame_prefix_[std::string(trimmed(task.child_value("id")))] = prefix;
    }
    if (!tasks && (is_video(about) || is_video(meta.child("task")))) {
      frame_prefix_[""] = prefix_of(about.child("source") ? about : meta);
    }
  }

  /// Pictures of one name in two subsets of a project are two pictures, where one person saw both.
  void find_subsets(const pugi::xml_node& root) {
    std::map<std::pair<std::string, std::string>, std::string> subset;  // of a name and a task
    for (const pugi::xml_node image : root.children("image")) {
      const std::string name = image.attribute("name").value(), own = image.attribute("subset").value();
      const auto at = subset.try_emplace({name, image.attribute("task_id").value()}, own).first;
      if (at->second != own) in_subsets_.insert(name);
    }
  }

  /// The name of an image: with its video, or with its subset where the name alone is not enough.
  std::string name_of(const pugi::xml_node& image) {
    std::string name = checked(image, image.attribute("name").value());
    if (name.empty()) return name;
    const auto prefix = frame_prefix_.find(frame_prefix_.count("") > 0 ? "" : image.attribute("task_id").value());
    if (prefix != frame_prefix_.end()) return prefix->second + name;
    if (in_subsets_.count(name) == 0) return name;
    const std::string subset = checked(image, image.attribute("subset").value());
    return subset.empty() ? name : subset + "/" + name;
  }

  /// What the boxes' attributes and sources say of who, or what, drew.
  void tell_authors() {
    persons_.tell(xml_.name(), "box", context_);
    if (automatic_ == 0) return;
    context_.note(xml_.name() + ": " +
                  (automatic_ == drawn_ ? "all " + std::to_string(automatic_)
                                        : std::to_string(automatic_) + " of " + std::to_string(drawn_)) +
                  (drawn_ == 1 ? " box was" : " boxes were") +
                  " made by a machine (source=\"auto\"); they count as the annotator's" +
                  (automatic_ == drawn_ ? ". If nobody checked them, leave the file out" : ""));
  }

  /// An attribute of a box or shape; empty when there is none.
  std::string attribute_of(const pugi::xml_node& shape, const std::string& name) {
    for (const pugi::xml_node attribute : shape.children("attribute")) {
      if (attribute.attribute("name").value() == name) {
        return std::string(trimmed(checked(attribute, attribute.child_value())));
      }
    }
    return {};
  }

  /// Who drew a shape; `otherwise`, unless attributes are to name them. Nothing: none does, which is reported.
  std::optional<std::int32_t> drawer_of(const pugi::xml_node& shape, std::int32_t otherwise, const RecordPlace& place) {
    ++drawn_;
    automatic_ += std::string_view(shape.attribute("source").value()) == "auto" ? 1 : 0;
    if (annotator_key_.empty()) {
      std::vector<CocoRecord::Candidate> persons;
      for (const pugi::xml_node attribute : shape.children("attribute")) {
        const std::string name = attribute.attribute("name").value();
        if (!resembles_annotator_id(name) && !may_name_person(name)) continue;
        const std::string value = attribute_of(shape, name);
        std::optional<RecordId> id;
        if (!value.empty()) id = RecordId::untyped(value);
        persons.push_back({"attributes." + name, id});
      }
      persons_.add(persons);
      return otherwise;
    }
    const std::string who = attribute_of(shape, annotator_key_);
    if (!who.empty()) return builder_.mention_annotator(RecordId::untyped(who), "", place);
    builder_.report(ProblemKind::bad_record, place,
                    "expected the attribute " + in_quotes(annotator_key_) + " with the annotator, found none");
    return std::nullopt;
  }

  std::int32_t annotator_of(const pugi::xml_node& image, const RecordPlace& place) {
    if (!annotator_key_.empty()) return -1;  // the boxes say
    const auto task = tasks_.find(image.attribute("task_id").value());
    if (task != tasks_.end()) return task->second;
    return whole_annotator(place);
  }

  std::int32_t whole_annotator(const RecordPlace& place) {
    if (!annotator_key_.empty()) return -1;
    if (whole_ < 0) whole_ = builder_.mention_annotator(RecordId::untyped(context_.source_annotator()), "", place);
    return whole_;
  }

  void read_labels(const pugi::xml_node& labels) {
    if (!labels) return;
    labels_listed_ = true;
    std::unordered_set<std::string> here;
    for (const pugi::xml_node label : labels.children("label")) {
      const std::string name = checked(label, label.child_value("name"));
      const RecordPlace place = builder_.place(xml_.line(label));
      if (name.empty()) {
        builder_.report(ProblemKind::bad_record, place, "expected <name> in <label>, found none");
      } else if (!here.insert(name).second) {
        builder_.report(ProblemKind::duplicate_id, place, "the label " + in_quotes(name) + " is defined twice");
      } else {
        builder_.mention_class(RecordId::string(name), name, place);
      }
    }
  }

  void read_image(const pugi::xml_node& node, std::int32_t annotator) {
    const RecordPlace place = builder_.place(xml_.line(node));
    const std::string name = name_of(node);
    if (name.empty()) {
      builder_.report(ProblemKind::bad_record, place, "expected the attribute name in <image>, found none");
      return;
    }
    if (!seen_.insert({name, annotator}).second) {
      builder_.report(ProblemKind::duplicate_id, place,
                      "the image " + in_quotes(name) + " stands twice in this file for the same annotator");
      return;
    }
    const std::int32_t image = builder_.mention_image(RecordId::string(name), name, place);
    std::int64_t extent[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
      const pugi::xml_attribute attribute = node.attribute(i == 0 ? "width" : "height");
      const auto value = parse_integer(attribute.value());
      if (attribute && !value) {
        builder_.report(
            ProblemKind::bad_record, place,
            std::string("expected a whole number as ") + attribute.name() + ", found " + in_quotes(attribute.value()));
        return;
      }
      extent[i] = value.value_or(0);
    }
    builder_.set_image_size(image, extent[0], extent[1], place);
    if (const auto number = parse_integer(node.attribute("id").value())) {
      context_.image_numbers.emplace_back(image, *number);
    }
    if (annotator >= 0) builder_.add_assignment(image, annotator, place);
    for (const pugi::xml_node shape : node.children()) {
      const std::string_view kind = shape.name();
      if (kind == "box") {
        read_box(shape, builder_.place(xml_.line(shape)), image, annotator);
      } else if (kind == "polygon" || kind == "polyline" || kind == "points" || kind == "ellipse" || kind == "cuboid" ||
                 kind == "skeleton" || kind == "mask") {
        read_shape(shape, builder_.place(xml_.line(shape)), image, annotator);
      }
    }
  }

  // CVAT for video.

  /// A shape of a track in a frame.
  struct Seen {
    pugi::xml_node shape;
    RecordPlace place;
    bool visible = true;
  };

  /// The frames of a task. `told`: whether a frame's boxes are all in the file.
  struct Video {
    std::string prefix;  ///< of the frames' names: the video's name and a slash
    std::int64_t first = 0, step = 1, width = 0, height = 0;
    std::vector<char> told;
    std::int32_t annotator = -1;
    std::vector<std::vector<Seen>> shapes;  ///< visible ones, of each frame
  };

  static std::int64_t number_below(const pugi::xml_node& node, const char* child, std::int64_t otherwise) {
    return parse_integer(trimmed(node.child_value(child))).value_or(otherwise);
  }

  Video video_of(const pugi::xml_node& about, const pugi::xml_node& source_of, std::int32_t annotator) {
    constexpr std::int64_t max_frames = 1000000;
    Video video;
    video.annotator = annotator;
    video.prefix = prefix_of(source_of);
    const std::int64_t size = number_below(about, "size", 0);
    video.first = number_below(about, "start_frame", 0);
    const std::string_view filter = about.child_value("frame_filter");
    if (const std::size_t at = filter.find("step="); at != std::string_view::npos) {
      video.step = parse_integer(trimmed(filter.substr(at + 5))).value_or(1);
    }
    const std::int64_t last = number_below(about, "stop_frame", video.first + size - 1);
    if (video.first < 0 || video.step < 1 || last < video.first || (last - video.first) / video.step >= max_frames) {
      xml_.fail(about, "expected the frames of a video (start_frame, stop_frame, at most a million), found " +
                           std::to_string(video.first) + " to " + std::to_string(last));
    }
    const auto frames = static_cast<std::size_t>((last - video.first) / video.step + 1);
    video.told.assign(frames, 1);
    video.shapes.resize(frames);
    video.width = number_below(about.child("original_size"), "width", 0);
    video.height = number_below(about.child("original_size"), "height", 0);
    return video;
  }

  void read_videos(const pugi::xml_node& meta, const pugi::xml_node& about, const pugi::xml_node& root,
                   const RecordPlace& place) {
    std::map<std::string, Video> videos;  // by the task's id
    const pugi::xml_node tasks = meta.child("project").child("tasks");
    if (tasks) {
      for (const pugi::xml_node task : tasks.children("task")) {
        const std::string id(trimmed(task.child_value("id")));
        const auto known = tasks_.find(id);
        Video video = video_of(task, task, known != tasks_.end() ? known->second : whole_annotator(place));
        if (video.prefix.empty()) video.prefix = checked(task, task.child_value("name")) + "/";
        videos.emplace(id, std::move(video));
      }
    } else {
      videos.emplace("", video_of(about, about.child("source") ? about : meta, whole_annotator(place)));
    }
    std::size_t interpolated = 0, shapes = 0;
    for (const pugi::xml_node track : root.children("track")) {
      const auto video = videos.find(tasks ? track.attribute("task_id").value() : "");
      if (video == videos.end()) {
        builder_.report(
            ProblemKind::bad_record, builder_.place(xml_.line(track)),
            "expected the task_id of a task in <meta>, found " + in_quotes(track.attribute("task_id").value()));
        continue;
      }
      read_track(track, video->second, interpolated, shapes);
    }
    std::size_t untold = 0, left_out = 0;
    for (auto& [id, video] : videos) use_video(video, place, untold, left_out);
    if (interpolated > 0) {
      context_.note(xml_.name() + ": " + std::to_string(interpolated) + " of " + counted(shapes, "box", "boxes") +
                    " were interpolated by CVAT between keyframes, not drawn");
    }
    if (untold > 0) {
      context_.note(xml_.name() + ": " + counted(untold, "frame") + " left out, with " +
                    counted(left_out, "box", "boxes") +
                    ": a track is listed by its keyframes alone, and nothing is interpolated here. CVAT's own export "
                    "lists every frame");
    }
  }

  void read_track(const pugi::xml_node& track, Video& video, std::size_t& interpolated, std::size_t& shapes) {
    std::map<std::size_t, Seen> listed;  // by frame
    for (pugi::xml_node shape : track.children()) {
      const pugi::xml_attribute frame_attribute = shape.attribute("frame");
      if (!frame_attribute) continue;
      const RecordPlace place = builder_.place(xml_.line(shape));
      const auto frame = parse_integer(frame_attribute.value());
      const std::int64_t offset = frame ? *frame - video.first : -1;
      if (!frame || *frame < video.first || offset % video.step != 0 ||
          static_cast<std::size_t>(offset / video.step) >= video.told.size()) {
        builder_.report(ProblemKind::bad_record, place,
                        "expected a frame of the video as frame, found " + in_quotes(frame_attribute.value()));
        continue;
      }
      const bool visible = std::string_view(shape.attribute("outside").value()) != "1";
      if (visible) shape.append_attribute("label").set_value(track.attribute("label").value());
      const auto index = static_cast<std::size_t>(offset / video.step);
      if (!listed.emplace(index, Seen{shape, place, visible}).second) {
        builder_.report(ProblemKind::duplicate_id, place,
                        "the frame " + std::string(frame_attribute.value()) + " stands twice in this track");
        continue;
      }
      if (!visible) continue;
      ++shapes;
      interpolated += std::string_view(shape.attribute("keyframe").value()) == "0" ? 1 : 0;
    }
    bool sparse = false;
    for (auto at = listed.begin(); at != listed.end(); ++at) {
      if (!at->second.visible) continue;
      video.shapes[at->first].push_back(at->second);
      const auto next = std::next(at);
      const std::size_t end = next != listed.end() ? next->first : sparse ? video.told.size() : at->first + 1;
      for (std::size_t frame = at->first + 1; frame < end; ++frame) {
        video.told[frame] = 0;
        sparse = true;
      }
    }
  }

  void use_video(const Video& video, const RecordPlace& place, std::size_t& untold, std::size_t& left_out) {
    for (std::size_t n = 0; n < video.told.size(); ++n) {
      if (video.told[n] == 0) {
        ++untold;
        left_out += video.shapes[n].size();
        continue;
      }
      std::string number = std::to_string(video.first + static_cast<std::int64_t>(n) * video.step);
      if (number.size() < 6) number.insert(0, 6 - number.size(), '0');
      const std::string name = video.prefix + "frame_" + number;
      const std::int32_t image = builder_.mention_image(RecordId::string(name), name, place);
      builder_.set_image_size(image, video.width, video.height, place);
      if (video.annotator >= 0) builder_.add_assignment(image, video.annotator, place);
      for (const Seen& seen : video.shapes[n]) {
        if (std::string_view(seen.shape.name()) == "box") {
          read_box(seen.shape, seen.place, image, video.annotator);
        } else {
          read_shape(seen.shape, seen.place, image, video.annotator);
        }
      }
    }
  }

  // Shapes of both.

  /// A number in an attribute; nothing when it is none.
  static std::optional<double> number_in(const pugi::xml_node& node, const char* attribute) {
    return parse_real(trimmed(node.attribute(attribute).value()));
  }

  /// The upright box around a polygon, ellipse or mask; nothing for other shapes, and when the numbers cannot be read.
  static std::optional<Box> box_around(const pugi::xml_node& node, std::string_view kind) {
    if (kind == "polygon" || kind == "polyline") {
      BoxAround around;
      std::string_view rest = node.attribute("points").value();
      while (!rest.empty()) {
        const std::string_view point = rest.substr(0, rest.find(';'));
        rest.remove_prefix(std::min(point.size() + 1, rest.size()));
        const std::size_t comma = point.find(',');
        if (comma == std::string_view::npos) return std::nullopt;
        const auto x = parse_real(trimmed(point.substr(0, comma))), y = parse_real(trimmed(point.substr(comma + 1)));
        if (!x || !y) return std::nullopt;
        around.add(*x, *y);
      }
      return around.box();
    }
    const bool ellipse = kind == "ellipse";
    if (!ellipse && kind != "mask") return std::nullopt;
    const auto a = number_in(node, ellipse ? "cx" : "left"), b = number_in(node, ellipse ? "cy" : "top");
    const auto c = number_in(node, ellipse ? "rx" : "width"), d = number_in(node, ellipse ? "ry" : "height");
    if (!a || !b || !c || !d) return std::nullopt;
    if (ellipse) return Box{*a - *c, *b - *d, *a + *c, *b + *d};
    return Box{*a, *b, *a + *c, *b + *d};
  }

  void read_shape(const pugi::xml_node& node, const RecordPlace& place, std::int32_t image, std::int32_t annotator) {
    const std::string_view kind = node.name();
    const std::string what = "a <" + std::string(kind) + ">";
    const std::optional<Box> box = box_around(node, kind);
    const std::string label = checked(node, node.attribute("label").value());
    if (!box || label.empty()) {
      context_.leave_shape(place, what);
      return;
    }
    if (!context_.takes_shape(place, what)) return;
    const std::optional<std::int32_t> who = drawer_of(node, annotator, place);
    if (!who) return;
    const RecordId id = RecordId::string(label);
    builder_.add_box(image,
                     labels_listed_ ? builder_.label(id, "label", place) : builder_.mention_class(id, label, place),
                     *who, *box, place);
  }

  void read_box(const pugi::xml_node& node, const RecordPlace& place, std::int32_t image, std::int32_t annotator) {
    const std::string label = checked(node, node.attribute("label").value());
    if (label.empty()) {
      builder_.report(ProblemKind::bad_record, place, "expected the attribute label in <box>, found none");
      return;
    }
    double corner[4];
    const char* const fields[4] = {"xtl", "ytl", "xbr", "ybr"};
    for (int i = 0; i < 4; ++i) {
      const auto value = parse_real(trimmed(node.attribute(fields[i]).value()));
      if (!value) {
        builder_.report(ProblemKind::bad_record, place,
                        std::string("expected a number as ") + fields[i] + " of <box>, found " +
                            in_quotes(node.attribute(fields[i]).value()));
        return;
      }
      corner[i] = *value;
    }
    Box box{corner[0], corner[1], corner[2], corner[3]};
    if (const pugi::xml_attribute rotation = node.attribute("rotation")) {
      const auto degrees = parse_real(trimmed(rotation.value()));
      if (!degrees || !std::isfinite(*degrees)) {
        builder_.report(ProblemKind::bad_record, place,
                        "expected a number as rotation of <box>, found " + in_quotes(rotation.value()));
        return;
      }
      box = context_.upright(box, *degrees, place);
    }
    const std::optional<std::int32_t> who = drawer_of(node, annotator, place);
    if (!who) return;
    const RecordId id = RecordId::string(label);
    const std::int32_t number =
        labels_listed_ ? builder_.label(id, "label", place) : builder_.mention_class(id, label, place);
    builder_.add_box(image, number, *who, box, place);
  }

  std::string annotator_key_;  ///< the attribute of boxes that names who drew; empty: none was named
  PersonMembers persons_;
  std::size_t drawn_ = 0, automatic_ = 0;  ///< boxes, and those of a machine
  XmlFile& xml_;
  ReadContext& context_;
  CrowdBuilder& builder_;
  bool labels_listed_ = false;
  std::set<std::pair<std::string, std::int32_t>> seen_;  ///< images and who drew in them
  std::map<std::string, std::int32_t> tasks_;            ///< annotators of a project's tasks, by the tasks' ids
  std::int32_t whole_ = -1;                              ///< the annotator of all else
  std::map<std::string, std::string> frame_prefix_;      ///< of tasks that are videos, by id; "": of the one task
  std::unordered_set<std::string> in_subsets_;           ///< names that stand in several subsets of a task
};

void parse_cvat(std::istream& in, const std::string& name, ReadContext& context) {
  XmlFile xml(in, name);
  CvatFileReader(xml, context).read();
}

void read_cvat(const std::string& path, ReadContext& context) {
  read_each_file(path, context, {".xml"}, parse_cvat);
}

/// Classes get numbers; images get the files' numbers as ids when these tell all images apart.
void finish_cvat(ReadContext& context) {
  number_classes(context);
  std::vector<ImageRecord>& images = context.builder.image_records();
  std::vector<std::int64_t> number(images.size(), -1);
  std::unordered_map<std::int64_t, std::string> owner;
  std::unordered_map<std::string, std::int64_t> of_name;
  for (const auto& [image, value] : context.image_numbers) {
    // Images are mentioned and defined at once, so a mention's number is the record's.
    auto& known = number[static_cast<std::size_t>(image)];
    const bool contradicts =
        value < 0 || of_name.try_emplace(images[static_cast<std::size_t>(image)].file, value).first->second != value ||
        owner.try_emplace(value, images[static_cast<std::size_t>(image)].file).first->second !=
            images[static_cast<std::size_t>(image)].file;
    if (contradicts) return;  // ids are then the names
    known = value;
  }
  if (std::count(number.begin(), number.end(), -1) > 0) return;
  for (std::size_t i = 0; i < images.size(); ++i) images[i].id = RecordId::integer(number[i]).external();
}

bool looks_like_cvat(const std::string& path) {
  if (!is_folder(path)) return xml_root_name(path) == "annotations";
  return folder_has_xml_root(path, "annotations");
}

std::string attribute(const char* name, const std::string& text) {
  return std::string(" ") + name + "=\"" + text + "\"";
}

void write_cvat(const CrowdData& data, const std::string& path, WriteReport& report) {
  require_distinct_class_names(data, "cvat");
  std::size_t nameless = 0, lost_text = 0;
  std::vector<std::string> names;
  std::unordered_set<std::string> distinct;
  bool numbered = true;
  for (const ImageRecord& image : data.images) {
    names.push_back(image.file);
    nameless += image.file.empty() ? 1 : 0;
    numbered = numbered && image.id.is_integer && image.id.text.front() != '-';
    if (!image.file.empty() && !distinct.insert(image.file).second) {
      throw DataError("two images have the name " + in_quotes(image.file) + ", and CVAT knows images by their names");
    }
  }
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    if (!names[i].empty()) continue;
    names[i] = data.images[i].id.text;
    while (!distinct.insert(names[i]).second) names[i] += " (id)";
  }
  std::string labels;
  for (const ClassRecord& record : data.classes) {
    labels +=
        "        <label><name>" + xml_escaped(record.name, &lost_text) + "</name><attributes></attributes></label>\n";
  }
  std::vector<std::string> body(data.annotators.size());
  std::vector<std::size_t> seen(data.annotators.size(), 0);
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const ImageRecord& image = data.images[i];
    for_each_assignment(data, i, [&](std::int32_t annotator, const std::vector<std::size_t>& rows) {
      std::string& text = body[static_cast<std::size_t>(annotator)];
      ++seen[static_cast<std::size_t>(annotator)];
      text += "  <image" + attribute("id", numbered ? image.id.text : std::to_string(i)) +
              attribute("name", xml_escaped(names[i]));
      if (image.width > 0) {
        text += attribute("width", std::to_string(image.width)) + attribute("height", std::to_string(image.height));
      }
      text += ">\n";
      for (const std::size_t n : rows) {
        const Annotation& a = data.annotations[n];
        text += "    <box" + attribute("label", xml_escaped(data.classes[static_cast<std::size_t>(a.label)].name)) +
                attribute("source", "manual") + attribute("occluded", "0") +
                attribute("xtl", shortest_decimal(a.box.x1)) + attribute("ytl", shortest_decimal(a.box.y1)) +
                attribute("xbr", shortest_decimal(a.box.x2)) + attribute("ybr", shortest_decimal(a.box.y2)) +
                attribute("z_order", "0") + "></box>\n";
      }
      text += "  </image>\n";
    });
  }
  AtomicFolder folder(path);
  std::unordered_set<std::string> files;
  for (std::size_t k = 0; k < data.annotators.size(); ++k) {
    const std::string& id = data.annotators[k].id.text;
    if (!files.insert(id).second) {
      throw DataError("two annotators have the id " + in_quotes(id) +
                      " (one as an integer, one as a string), and CVAT cannot tell them apart");
    }
    const std::string head =
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<annotations>\n  <version>1.1</version>\n  <meta>\n    <task>\n"
        "      <size>" +
        std::to_string(seen[k]) + "</size>\n      <mode>annotation</mode>\n      <labels>\n" + labels +
        "      </labels>\n      <assignee><username>" + xml_escaped(id, &lost_text) +
        "</username></assignee>\n    </task>\n  </meta>\n";
    write_text_file(join(folder.path(), to_file_name(id) + ".xml"), head + body[k] + "</annotations>\n");
    body[k] = {};
  }
  if (!numbered) add_loss(report, "image ids (images are known by their names)", data.images.size());
  add_loss(report, "images without a file name (the id takes its place)", nameless);
  add_loss(report, "texts with control characters", lost_text);
  add_unseen_image_loss(data, report);
  add_guessed_assignment_loss(data, report);
  add_annotator_losses(data, false, true, report);
  add_class_id_losses(data, 1, report);
  add_type_losses(data, false, false, true, report);
  add_truth_loss(data, report);
  folder.commit();
}

}  // namespace

CrowdFormat cvat_format() {
  CrowdFormat row = {"cvat",          "CVAT for images or video 1.1, one XML file per annotator or job",
                     looks_like_cvat, parse_cvat,
                     read_cvat,       finish_cvat,
                     write_cvat};
  row.takes.assignee = row.takes.annotator_key = true;
  return row;
}

}  // namespace bdc
