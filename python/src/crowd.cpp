#include <pybind11/stl.h>

#include <algorithm>

#include "arrays.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/validate.h"
#include "module.h"
#include "pickling.h"

namespace bdc::python {
namespace {

AnnotatorFrom annotator_from(const std::string& name) {
  if (name == "assignee") return AnnotatorFrom::assignee;
  if (name == "file") return AnnotatorFrom::file;
  if (name == "folder") return AnnotatorFrom::folder;
  if (name == "key") return AnnotatorFrom::key;
  throw py::value_error("annotator_from: expected assignee, file, folder or key, found '" + printable(name) + "'");
}

std::shared_ptr<Crowd> read(const std::vector<std::string>& paths, const py::dict& options) {
  ReadOptions reading = read_options(options);
  auto crowd = std::make_shared<Crowd>();
  reading.notes = &crowd->notes;
  const py::gil_scoped_release unlocked;
  if (paths.empty()) throw DataError("no file given");
  crowd->data = read_crowd(paths, reading);
  return crowd;
}

template <class Record>
py::list ids(const std::vector<Record>& records) {
  py::list out;
  for (const Record& record : records) out.append(to_python(record.id));
  return out;
}

template <class Record>
py::list texts(const std::vector<Record>& records, std::string Record::*text) {
  py::list out;
  for (const Record& record : records) out.append(py::str(record.*text));
  return out;
}

template <class Record>
py::list records(const std::vector<Record>& list, std::string Record::*text) {
  py::list out;
  for (const Record& record : list) out.append(py::make_tuple(to_python(record.id), record.*text));
  return out;
}

template <class Record>
std::vector<Record> records_of(const py::handle& list, std::string Record::*text) {
  std::vector<Record> out;
  for (const auto& row : list) {
    const auto pair = row.cast<py::tuple>();
    out.emplace_back();
    out.back().id = to_id(pair[0]);
    out.back().*text = pair[1].cast<std::string>();
  }
  return out;
}

py::tuple to_pickle(const Crowd& c) {
  const CrowdData& d = c.data;
  std::vector<int> sizes;
  for (const ImageRecord& image : d.images) sizes.insert(sizes.end(), {image.width, image.height});
  return py::make_tuple(BDC_VERSION, records(d.images, &ImageRecord::file), to_bytes(sizes),
                        records(d.classes, &ClassRecord::name), records(d.annotators, &AnnotatorRecord::name),
                        to_bytes(d.annotations), to_bytes(d.assignments), d.assignments_known, to_bytes(d.truth),
                        d.has_truth, to_bytes(d.truth_covers), c.notes);
}

std::shared_ptr<Crowd> from_pickle(const py::tuple& state) {
  check_pickle(state, 12);
  auto crowd = std::make_shared<Crowd>();
  CrowdData& d = crowd->data;
  d.images = records_of(state[1], &ImageRecord::file);
  const auto sizes = from_bytes<int>(state[2]);
  if (sizes.size() != 2 * d.images.size()) throw DataError("a damaged pickle");
  for (std::size_t i = 0; i < d.images.size(); ++i) {
    d.images[i].width = sizes[2 * i];
    d.images[i].height = sizes[2 * i + 1];
  }
  d.classes = records_of(state[3], &ClassRecord::name);
  d.annotators = records_of(state[4], &AnnotatorRecord::name);
  d.annotations = from_bytes<Annotation>(state[5]);
  d.assignments = from_bytes<Assignment>(state[6]);
  d.assignments_known = state[7].cast<bool>();
  d.truth = from_bytes<TruthBox>(state[8]);
  d.has_truth = state[9].cast<bool>();
  d.truth_covers = from_bytes<std::uint8_t>(state[10]);
  crowd->notes = state[11].cast<std::vector<std::string>>();
  d.finalize();
  return crowd;
}

Crowd& of(const py::object& self) {
  return self.cast<Crowd&>();
}

py::tuple validated(const std::vector<std::string>& paths, const py::dict& options) {
  const ReadOptions reading = read_options(options);
  ValidationReport report;
  {
    const py::gil_scoped_release unlocked;
    report = validate_crowd(paths, reading);
  }
  return py::make_tuple(report.text(), report.json());
}

}  // namespace

py::object to_python(const ExternalId& id) {
  if (!id.is_integer) return py::str(id.text);
  return py::reinterpret_steal<py::object>(PyLong_FromString(id.text.c_str(), nullptr, 10));
}

ExternalId to_id(py::handle value) {
  if (py::isinstance<py::str>(value)) return {value.cast<std::string>(), false};
  if (PyBool_Check(value.ptr()) == 0 && PyIndex_Check(value.ptr()) != 0) {
    return {std::to_string(py::int_(py::reinterpret_borrow<py::object>(value)).cast<std::int64_t>()), true};
  }
  throw py::type_error("expected an id, a whole number or a text, found " + py::repr(value).cast<std::string>());
}

ReadOptions read_options(const py::dict& options) {
  ReadOptions out;
  for (const auto& [key, value] : options) {
    const auto name = key.cast<std::string>();
    if (value.is_none()) continue;
    if (name == "format") {
      out.format = value.cast<std::string>();
    } else if (name == "sizes") {
      out.sizes_csv = value.cast<std::string>();
    } else if (name == "image_folder") {
      out.image_folder = value.cast<std::string>();
    } else if (name == "class_names") {
      out.class_names = value.cast<std::string>();
    } else if (name == "annotator") {
      out.annotator = value.cast<std::string>();
    } else if (name == "annotator_from") {
      out.annotator_from = annotator_from(value.cast<std::string>());
    } else if (name == "annotator_key") {
      out.annotator_key = value.cast<std::string>();
    } else if (name == "split") {
      out.split = value.cast<std::string>();
    } else if (name == "columns") {
      out.columns = value.cast<std::string>();
    } else if (name == "voc_one_based") {
      out.voc_one_based = value.cast<bool>();
    } else if (name == "shapes_to_boxes") {
      out.shapes_to_boxes = value.cast<bool>();
    } else {
      throw py::type_error("unknown option '" + printable(name) +
                           "'; known: format, sizes, image_folder, class_names, annotator, annotator_from, "
                           "annotator_key, split, columns, voc_one_based, shapes_to_boxes");
    }
  }
  return out;
}

void add_crowd(py::module_& m) {
  py::class_<Crowd, std::shared_ptr<Crowd>> crowd(m, "Crowd");
  crowd.def_readwrite("notes", &Crowd::notes)
      .def_property_readonly("image_ids", [](const Crowd& c) { return ids(c.data.images); })
      .def_property_readonly("image_files", [](const Crowd& c) { return texts(c.data.images, &ImageRecord::file); })
      .def_property_readonly("image_width",
                             [](const py::object& c) { return member(of(c).data.images, &ImageRecord::width, c); })
      .def_property_readonly("image_height",
                             [](const py::object& c) { return member(of(c).data.images, &ImageRecord::height, c); })
      .def_property_readonly("class_ids", [](const Crowd& c) { return ids(c.data.classes); })
      .def_property_readonly("class_names", [](const Crowd& c) { return texts(c.data.classes, &ClassRecord::name); })
      .def_property_readonly("annotator_ids", [](const Crowd& c) { return ids(c.data.annotators); })
      .def_property_readonly("annotator_names",
                             [](const Crowd& c) {
                               py::list out;
                               for (const auto& a : c.data.annotators) {
                                 out.append(py::str(a.name.empty() ? a.id.text : a.name));
                               }
                               return out;
                             })
      .def_property_readonly("image",
                             [](const py::object& c) { return member(of(c).data.annotations, &Annotation::image, c); })
      .def_property_readonly("label",
                             [](const py::object& c) { return member(of(c).data.annotations, &Annotation::label, c); })
      .def_property_readonly(
          "annotator", [](const py::object& c) { return member(of(c).data.annotations, &Annotation::annotator, c); })
      .def_property_readonly("boxes",
                             [](const py::object& c) {
                               const auto& list = of(c).data.annotations;
                               return read_only(list.empty() ? nullptr : &list.front().box.x1,
                                                {static_cast<py::ssize_t>(list.size()), 4},
                                                {sizeof(Annotation), sizeof(double)}, c);
                             })
      .def_property_readonly("assigned_image",
                             [](const py::object& c) { return member(of(c).data.assignments, &Assignment::image, c); })
      .def_property_readonly(
          "assigned_annotator",
          [](const py::object& c) { return member(of(c).data.assignments, &Assignment::annotator, c); })
      .def_property_readonly("assignments_known", [](const Crowd& c) { return c.data.assignments_known; })
      .def_property_readonly("has_truth", [](const Crowd& c) { return c.data.has_truth; })
      .def_property_readonly("num_images", [](const Crowd& c) { return c.data.images.size(); })
      .def_property_readonly("num_classes", [](const Crowd& c) { return c.data.classes.size(); })
      .def_property_readonly("num_annotators", [](const Crowd& c) { return c.data.annotators.size(); })
      .def_property_readonly("num_annotations", [](const Crowd& c) { return c.data.annotations.size(); })
      .def(
          "write",
          [](const Crowd& c, const std::string& path, const std::string& format) {
            return write_crowd(c.data, path, format).text();
          },
          py::arg("path"), py::arg("format") = "", py::call_guard<py::gil_scoped_release>());
  crowd.def(py::pickle(&to_pickle, &from_pickle));
  m.def("read", &read, py::arg("paths"), py::arg("options") = py::dict());
  m.def("validate", &validated, py::arg("paths"), py::arg("options") = py::dict());
  m.def("formats", [] {
    std::vector<std::string> names;
    for (const CrowdFormatInfo& format : crowd_formats()) names.push_back(format.name);
    return names;
  });
}

}  // namespace bdc::python
