// Pascal VOC XML: a folder per annotator, in it a file per image that the annotator saw; a file without <object> is an
// image where nothing was drawn. An <annotator> element in <annotation>, or in an <object>, says who drew and wins over
// the folder's name. Beside <bndbox>, roLabelImg's <robndbox> and the <polygon> of LabelMe's web tool are read, whose
// <username> is who drew. Corners are taken as they stand (as labelling programs write them), or, with voc_one_based,
// as VOC's own files mean them: pixels counted from 1, the last one included.
#include <array>
#include <cmath>
#include <optional>

#include "base/files.h"
#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "crowd/box_around.h"
#include "crowd/folder_dataset.h"
#include "crowd/format.h"
#include "crowd/label_tree.h"
#include "crowd/whole_number.h"
#include "crowd/xml_file.h"

namespace bdc {
namespace {

class VocFileReader {
 public:
  VocFileReader(XmlFile& xml, std::string image_name, std::string folder_annotator, ReadContext& context)
      : xml_(xml),
        image_name_(std::move(image_name)),
        annotator_(std::move(folder_annotator)),
        context_(context),
        builder_(context.builder) {}

  void read() {
    const pugi::xml_node root = xml_.root();
    if (std::string_view(root.name()) != "annotation") {
      xml_.fail(root,
                "expected Pascal VOC with the root <annotation>, found <" + printable(shorten(root.name(), 40)) + ">");
    }
    builder_.begin_file(xml_.name());
    use_class_names(context_, ClassKeys::name);
    const RecordPlace place = builder_.place(xml_.line(root));
    const std::string file(trimmed(checked(root, root.child("filename").child_value())));
    const std::string misplaced = folder_of_image(file, image_name_, annotator_);
    if (!misplaced.empty() && !root.child("annotator")) xml_.fail(root, misplaced);
    const std::int32_t image = image_of(context_, image_name_, file, place);
    read_size(root.child("size"), "width", "height", image);
    read_size(root.child("imagesize"), "ncols", "nrows", image);
    if (root.child("annotator")) annotator_ = trimmed(checked(root, root.child("annotator").child_value()));
    if (annotator_.empty()) xml_.fail(root, "expected the annotator's name, found an empty <annotator>");
    builder_.assignments_are_known();
    // Objects may name their own annotators; then the folder's name is not one of those who saw the image.
    bool all_named = root.child("object") != nullptr && root.child("annotator") == nullptr;
    for (const pugi::xml_node object : root.children("object")) {
      all_named = all_named && (object.child("annotator") != nullptr || !drawer_of(object).empty());
    }
    std::int32_t annotator = 0;
    if (!all_named) {
      annotator = builder_.mention_annotator(RecordId::untyped(annotator_), "", place);
      builder_.add_assignment(image, annotator, place);
    }
    for (const pugi::xml_node object : root.children("object")) read_object(object, image, annotator);
  }

 private:
  std::string checked(const pugi::xml_node& node, const char* text) {
    if (!is_utf8(text)) xml_.fail(node, "expected text in UTF-8, found other bytes");
    return text;
  }

  /// Who drew an object with LabelMe's web tool; empty when it does not say.
  std::string drawer_of(const pugi::xml_node& object) {
    for (const char* outline : {"polygon", "segm"}) {
      const std::string name(trimmed(checked(object, object.child(outline).child_value("username"))));
      if (!name.empty() && name != "anonymous") return name;
    }
    return {};
  }

  void read_size(const pugi::xml_node& size, const char* width, const char* height, std::int32_t image) {
    if (!size) return;
    const RecordPlace place = builder_.place(xml_.line(size));
    std::int64_t extent[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
      const char* name = i == 0 ? width : height;
      const std::string_view text = trimmed(size.child_value(name));
      const auto value = whole_number(text);
      if (!value) {
        builder_.report(ProblemKind::bad_record, place,
                        std::string("expected <") + name + "> in whole pixels, found " + in_quotes(text));
        return;
      }
      extent[i] = *value;
    }
    builder_.set_image_size(image, extent[0], extent[1], place);
  }

  /// CVAT's rotated boxes stand in VOC as they were before they were turned, with this attribute.
  double rotation_of(const pugi::xml_node& object) {
    for (const pugi::xml_node attribute : object.child("attributes").children("attribute")) {
      if (trimmed(attribute.child_value("name")) != "rotation") continue;
      const std::string_view text = trimmed(attribute.child_value("value"));
      const auto degrees = parse_real(text);
      if (!degrees || !std::isfinite(*degrees)) {
        xml_.fail(attribute, "expected a number as rotation of <object>, found " + in_quotes(text));
      }
      return *degrees;
    }
    return 0;
  }

  void read_object(const pugi::xml_node& object, std::int32_t image, std::int32_t annotator) {
    const RecordPlace place = builder_.place(xml_.line(object));
    const std::string name(trimmed(checked(object, object.child_value("name"))));
    if (name.empty()) {
      builder_.report(ProblemKind::bad_record, place, "expected <name> in <object>, found none");
      return;
    }
    if (trimmed(object.child_value("deleted")) == "1") return;  // taken back in LabelMe's web tool
    const std::optional<Box> box = box_of(object, place);
    if (!box) return;
    if (const pugi::xml_node own = object.child("annotator")) {
      const std::string id(trimmed(checked(object, own.child_value())));
      if (id.empty()) {
        builder_.report(ProblemKind::bad_record, place, "expected the annotator's name, found an empty <annotator>");
        return;
      }
      annotator = builder_.mention_annotator(RecordId::untyped(id), "", place);
    } else if (const std::string who = drawer_of(object); !who.empty()) {
      annotator = builder_.mention_annotator(RecordId::untyped(who), "", place);
    }
    builder_.add_box(image, label_of(context_, name, ClassKeys::name, place), annotator, *box, place);
  }

  /// The object's upright box; nothing when it has none, which was said.
  std::optional<Box> box_of(const pugi::xml_node& object, const RecordPlace& place) {
    if (const pugi::xml_node bndbox = object.child("bndbox")) {
      auto corner = numbers_in<4>(bndbox, {"xmin", "ymin", "xmax", "ymax"}, place);
      if (!corner) return std::nullopt;
      if (context_.options.voc_one_based) {
        (*corner)[0] -= 1;
        (*corner)[1] -= 1;
      }
      return context_.upright({(*corner)[0], (*corner)[1], (*corner)[2], (*corner)[3]}, rotation_of(object), place);
    }
    if (const pugi::xml_node rotated = object.child("robndbox")) {
      const auto found = numbers_in<5>(rotated, {"cx", "cy", "w", "h", "angle"}, place);
      if (!found) return std::nullopt;
      const auto [x, y, width, height, angle] = *found;
      if (!std::isfinite(angle)) {
        builder_.report(ProblemKind::bad_record, place, "expected a finite number in <angle>");
        return std::nullopt;
      }
      constexpr double degrees = 180 / 3.14159265358979323846;
      return context_.upright({x - width / 2, y - height / 2, x + width / 2, y + height / 2}, angle * degrees, place);
    }
    if (const pugi::xml_node polygon = object.child("polygon")) {
      return box_of_points(polygon, trimmed(object.child_value("type")) == "bounding_box", place);
    }
    if (object.child("segm").child("box")) {
      const auto corner = numbers_in<4>(object.child("segm").child("box"), {"xmin", "ymin", "xmax", "ymax"}, place);
      if (!corner || !context_.takes_shape(place, "a <segm>")) return std::nullopt;
      return Box{(*corner)[0], (*corner)[1], (*corner)[2], (*corner)[3]};
    }
    builder_.report(ProblemKind::bad_record, place, "expected <bndbox> in <object>, found none");
    return std::nullopt;
  }

  /// The box around the points of LabelMe's web tool, which marks those that are boxes.
  std::optional<Box> box_of_points(const pugi::xml_node& polygon, bool is_box, const RecordPlace& place) {
    BoxAround around;
    for (const pugi::xml_node point : polygon.children("pt")) {
      const auto found = numbers_in<2>(point, {"x", "y"}, place);
      if (!found) return std::nullopt;
      around.add((*found)[0], (*found)[1]);
    }
    if (!around.box()) {
      builder_.report(ProblemKind::bad_record, place, "expected <pt> with finite <x> and <y> in <polygon>, found none");
      return std::nullopt;
    }
    if (!is_box && !context_.takes_shape(place, "a <polygon>")) return std::nullopt;
    return around.box();
  }

  /// The numbers in the elements of a node that have these names; nothing when one is none, which is said.
  template <std::size_t N>
  std::optional<std::array<double, N>> numbers_in(const pugi::xml_node& node, const std::array<const char*, N>& names,
                                                  const RecordPlace& place) {
    std::array<double, N> out{};
    for (std::size_t i = 0; i < N; ++i) {
      const std::string_view text = trimmed(node.child_value(names[i]));
      const auto value = parse_real(text);
      if (!value) {
        builder_.report(ProblemKind::bad_record, place,
                        std::string("expected a number in <") + names[i] + ">, found " + in_quotes(text));
        return std::nullopt;
      }
      out[i] = *value;
    }
    return out;
  }

  XmlFile& xml_;
  std::string image_name_, annotator_;
  ReadContext& context_;
  CrowdBuilder& builder_;
};

void parse_voc(std::istream& in, const std::string& name, ReadContext& context) {
  const std::string& given = context.options.annotator;
  XmlFile xml(in, name);
  VocFileReader(xml, from_file_name(file_stem(name)), given.empty() ? from_file_name(parent_name(name)) : given,
                context)
      .read();
}

void read_voc(const std::string& path, ReadContext& context) {
  if (!is_folder(path)) {
    read_one_file(path, context, parse_voc);
    return;
  }
  guarded(context, [&] { load_sidecars(path, context, ClassKeys::name); });
  for (const AnnotatorFiles& part : label_tree(path, files_below(path, {".xml"}), context)) {
    for (const LabelFile& file : part.files) {
      guarded(context, [&] {
        std::ifstream in = open_input(file.path);
        XmlFile xml(in, file.path);
        VocFileReader(xml, file.image, part.annotator, context).read();
      });
    }
  }
}

bool looks_like_voc(const std::string& path) {
  if (!is_folder(path)) return xml_root_name(path) == "annotation";
  return folder_has_xml_root(path, "annotation");
}

std::string element(const char* name, const std::string& text) {
  return std::string("<") + name + ">" + text + "</" + name + ">";
}

void write_voc(const CrowdData& data, const std::string& path, WriteReport& report) {
  require_distinct_class_names(data, "voc");
  const std::vector<std::string> names = label_names(data);
  AtomicFolder folder(path);
  write_sizes_csv(join(folder.path(), "sizes.csv"), data, names);
  write_class_names(join(folder.path(), "classes.txt"), data, report);
  std::vector<char> made(data.annotators.size(), 0);
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    const ImageRecord& image = data.images[i];
    for_each_assignment(data, i, [&](std::int32_t annotator, const std::vector<std::size_t>& rows) {
      const auto k = static_cast<std::size_t>(annotator);
      const std::string own_folder = join(folder.path(), to_file_name(data.annotators[k].id.text));
      if (made[k] == 0) make_folder(own_folder);
      made[k] = 1;
      std::string text = "<annotation>\n  ";
      if (!image.file.empty()) text += element("filename", xml_escaped(image.file)) + "\n  ";
      text += element("annotator", xml_escaped(data.annotators[k].id.text)) + "\n";
      if (image.width > 0) {
        text += "  <size>" + element("width", std::to_string(image.width)) +
                element("height", std::to_string(image.height)) + element("depth", "3") + "</size>\n";
      }
      for (const std::size_t n : rows) {
        const Annotation& a = data.annotations[n];
        text += "  <object>\n    " +
                element("name", xml_escaped(data.classes[static_cast<std::size_t>(a.label)].name)) +
                "\n    <pose>Unspecified</pose><truncated>0</truncated><difficult>0</difficult>\n    <bndbox>" +
                element("xmin", shortest_decimal(a.box.x1)) + element("ymin", shortest_decimal(a.box.y1)) +
                element("xmax", shortest_decimal(a.box.x2)) + element("ymax", shortest_decimal(a.box.y2)) +
                "</bndbox>\n  </object>\n";
      }
      text += "</annotation>\n";
      write_text_file(join(own_folder, names[i] + ".xml"), text);
    });
  }
  add_annotator_folder_losses(data, 1, true, report);
  folder.commit();
}

}  // namespace

CrowdFormat voc_format() {
  CrowdFormat row = {"voc",          "Pascal VOC XML, one folder per annotator (or <annotator> elements)",
                     looks_like_voc, parse_voc,
                     read_voc,       number_classes,
                     write_voc};
  row.takes.class_names = row.takes.one_based = true;
  return row;
}

}  // namespace bdc
