#include <pybind11/stl.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "arrays.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"
#include "module.h"

/// Columns of a table into the dense numbers and the records of a CrowdData.
namespace bdc::python {
namespace {

[[noreturn]] void refuse(const std::string& column, py::ssize_t row, const std::string& what) {
  throw DataError("column " + column + ", row " + std::to_string(row) + ": " + what);
}

/// A column of ids as numbers 0, 1, ... in the order of first appearance.
class Factors {
 public:
  explicit Factors(py::ssize_t rows) : codes_(rows), out_(codes_.mutable_data()) {}

  void put(py::ssize_t row, std::int32_t code) { out_[row] = code; }
  [[nodiscard]] std::int32_t next() const { return static_cast<std::int32_t>(names_.size()); }
  void name(const py::object& value) { names_.append(value); }
  [[nodiscard]] py::tuple done() const { return py::make_tuple(codes_, names_); }

 private:
  Codes codes_;
  std::int32_t* out_;
  py::list names_;
};

template <class Integer>
py::tuple integers(const py::array& column) {
  const auto values = py::array_t<Integer, py::array::forcecast>(column);
  const auto at = values.template unchecked<1>();
  Factors out(at.shape(0));
  std::unordered_map<Integer, std::int32_t> known;
  for (py::ssize_t n = 0; n < at.shape(0); ++n) {
    const auto [place, is_new] = known.try_emplace(at(n), out.next());
    if (is_new) out.name(py::int_(at(n)));
    out.put(n, place->second);
  }
  return out.done();
}

py::tuple whole_floats(const py::array& column, const std::string& name) {
  const auto values = py::array_t<double, py::array::forcecast>(column);
  const auto at = values.unchecked<1>();
  for (py::ssize_t n = 0; n < at.shape(0); ++n) {
    if (std::isnan(at(n))) refuse(name, n, "a value is missing");
    if (std::abs(at(n)) > 9e15 || at(n) != std::floor(at(n))) {
      refuse(name, n, "expected an id, a whole number or a text, found " + shortest_decimal(at(n)));
    }
  }
  return integers<std::int64_t>(column);
}

/// numpy's texts of a fixed width, UCS-4.
py::tuple wide_texts(const py::array& column) {
  const py::array values = py::array::ensure(column, py::array::c_style);
  const auto width = static_cast<std::size_t>(values.itemsize());
  const char* data = static_cast<const char*>(values.data());
  Factors out(values.shape(0));
  std::unordered_map<std::string_view, std::int32_t> known;
  for (py::ssize_t n = 0; n < values.shape(0); ++n) {
    const std::string_view text(data + static_cast<std::size_t>(n) * width, width);
    const auto [place, is_new] = known.try_emplace(text, out.next());
    if (is_new) out.name(py::str(values[py::int_(n)]));
    out.put(n, place->second);
  }
  return out.done();
}

/// Python's own objects: texts or whole numbers, not both.
py::tuple objects(const py::array& column, const std::string& name) {
  Factors out(column.shape(0));
  const py::dict known;
  const char* data = static_cast<const char*>(column.data());
  int texts = -1;
  for (py::ssize_t n = 0; n < column.shape(0); ++n) {
    PyObject* value = *reinterpret_cast<PyObject* const*>(data + n * column.strides(0));
    const py::handle object(value);
    if (value == nullptr || object.is_none() || (PyFloat_Check(value) != 0 && std::isnan(PyFloat_AS_DOUBLE(value)))) {
      refuse(name, n, "a value is missing");
    }
    const bool text = PyUnicode_Check(value) != 0;
    if (!text && (PyBool_Check(value) != 0 || PyIndex_Check(value) == 0)) {
      refuse(name, n, "expected an id, a whole number or a text, found " + py::repr(object).cast<std::string>());
    }
    if (texts >= 0 && (texts == 1) != text) {
      refuse(name, n,
             "found " + py::repr(object).cast<std::string>() + " where the rows before have " +
                 (text ? "whole numbers" : "texts") + "; integers and strings are different ids");
    }
    texts = text ? 1 : 0;
    PyObject* code = PyDict_GetItemWithError(known.ptr(), value);
    if (code == nullptr && PyErr_Occurred() != nullptr) throw py::error_already_set();
    if (code == nullptr) {
      const py::object plain =
          text ? py::reinterpret_borrow<py::object>(object) : py::reinterpret_steal<py::object>(PyNumber_Index(value));
      if (!plain) throw py::error_already_set();
      const py::int_ number(out.next());
      known[object] = number;
      out.name(plain);
      out.put(n, number.cast<std::int32_t>());
    } else {
      out.put(n, static_cast<std::int32_t>(PyLong_AsLong(code)));
    }
  }
  return out.done();
}

py::tuple factorize(const py::array& column, const std::string& name) {
  if (column.ndim() != 1)
    throw DataError("column " + name + ": expected one dimension, found " + std::to_string(column.ndim()));
  switch (column.dtype().kind()) {
    case 'i':
      return integers<std::int64_t>(column);
    case 'u':
      return integers<std::uint64_t>(column);
    case 'f':
      return whole_floats(column, name);
    case 'U':
      return wide_texts(column);
    case 'O':
      return objects(column, name);
    default:
      throw DataError("column " + name + ": expected ids, whole numbers or texts, found " +
                      py::str(column.dtype()).cast<std::string>());
  }
}

std::string shown(const Box& box) {
  return "(" + shortest_decimal(box.x1) + ", " + shortest_decimal(box.y1) + ", " + shortest_decimal(box.x2) + ", " +
         shortest_decimal(box.y2) + ")";
}

/// What makes a box unfit for aggregation; nothing: none.
std::string wrong_with(const Box& box) {
  for (const double v : {box.x1, box.y1, box.x2, box.y2}) {
    if (!std::isfinite(v)) return "holds a number that is not finite";
    if (std::abs(v) > 1e9) return "reaches beyond 1e9";
  }
  if (box.x2 < box.x1 || box.y2 < box.y1) return "has a negative width or height";
  if (!(box.width() > 1e-9) || !(box.height() > 1e-9)) return "has no area";
  return {};
}

template <class Record>
void add_records(const py::list& ids, const std::vector<std::string>& names, std::string Record::*text,
                 std::vector<Record>& out) {
  out.resize(ids.size());
  for (std::size_t n = 0; n < ids.size(); ++n) {
    out[n].id = to_id(ids[n]);
    out[n].*text = names.empty() ? out[n].id.text : names[n];
  }
}

/// For each image, how many rows belong to images before it.
std::vector<std::size_t> first_rows(const Codes& image, std::size_t images) {
  std::vector<std::size_t> begin(images + 1, 0);
  for (py::ssize_t n = 0; n < image.size(); ++n) {
    const std::int32_t i = image.data()[n];
    if (i < 0 || static_cast<std::size_t>(i) >= images) throw py::value_error("image: a number is not in its range");
    ++begin[static_cast<std::size_t>(i) + 1];
  }
  for (std::size_t i = 0; i < images; ++i) begin[i + 1] += begin[i];
  return begin;
}

/// Codes of rows with boxes, and of (image, annotator) pairs that say who saw what; without the latter: who drew.
std::shared_ptr<Crowd> from_arrays(const py::list& image_ids, const py::list& annotator_ids, const py::list& class_ids,
                                   const Codes& image, const Codes& annotator, const Codes& label,
                                   const std::vector<py::array_t<double>>& corners, const Numbers& sizes,
                                   const py::object& assigned) {
  auto crowd = std::make_shared<Crowd>();
  CrowdData& data = crowd->data;
  add_records(image_ids, {}, &ImageRecord::file, data.images);
  for (ImageRecord& record : data.images) {
    if (record.id.is_integer) record.file.clear();
  }
  add_records(annotator_ids, {}, &AnnotatorRecord::name, data.annotators);
  add_records(class_ids, {}, &ClassRecord::name, data.classes);
  const py::ssize_t rows = image.size();
  if (corners.size() != 4) throw py::value_error("expected four columns of corners");
  for (const auto& column : corners) {
    if (column.ndim() != 1 || column.size() != rows) throw DataError("the columns differ in length");
  }
  if (annotator.size() != rows || label.size() != rows) throw DataError("the columns differ in length");
  const auto x1 = corners[0].unchecked<1>(), y1 = corners[1].unchecked<1>(), x2 = corners[2].unchecked<1>(),
             y2 = corners[3].unchecked<1>();
  // Rows go to their places in the order of images at once: sorted afterwards, they would stand in memory twice.
  std::vector<std::size_t> place = first_rows(image, data.images.size());
  data.annotations.resize(static_cast<std::size_t>(rows));
  for (py::ssize_t n = 0; n < rows; ++n) {
    Annotation& a = data.annotations[place[static_cast<std::size_t>(image.data()[n])]++];
    a.box = {x1(n), y1(n), x2(n), y2(n)};
    a.image = image.data()[n];
    a.annotator = annotator.data()[n];
    a.label = label.data()[n];
    const std::string wrong = wrong_with(a.box);
    if (!wrong.empty()) throw DataError("row " + std::to_string(n) + ": the box " + shown(a.box) + " " + wrong);
  }
  if (sizes.size() > 0) {
    if (sizes.ndim() != 2 || sizes.shape(0) != static_cast<py::ssize_t>(data.images.size()) || sizes.shape(1) != 2) {
      throw py::value_error("sizes: expected a width and a height for each image");
    }
    for (std::size_t i = 0; i < data.images.size(); ++i) {
      const double w = sizes.at(static_cast<py::ssize_t>(i), 0), h = sizes.at(static_cast<py::ssize_t>(i), 1);
      if (std::isnan(w) && std::isnan(h)) continue;  // not known
      if (!(w >= 1 && h >= 1 && w <= 1e9 && h <= 1e9) || w != std::floor(w) || h != std::floor(h)) {
        throw DataError("image " + printable(data.images[i].id.text) +
                        ": expected a width and a height in pixels, found " + shortest_decimal(w) + " x " +
                        shortest_decimal(h));
      }
      data.images[i].width = static_cast<int>(w);
      data.images[i].height = static_cast<int>(h);
    }
  }
  if (!assigned.is_none()) {
    const auto pairs = assigned.cast<std::pair<Codes, Codes>>();
    if (pairs.first.size() != pairs.second.size()) throw DataError("the columns of who saw what differ in length");
    data.assignments_known = true;
    for (py::ssize_t n = 0; n < pairs.first.size(); ++n) {
      data.assignments.push_back({pairs.first.data()[n], pairs.second.data()[n]});
    }
  }
  const py::gil_scoped_release unlocked;
  data.finalize();
  return crowd;
}

}  // namespace

void add_table(py::module_& m) {
  m.def("factorize", &factorize, py::arg("column"), py::arg("name"));
  m.def("from_arrays", &from_arrays, py::arg("image_ids"), py::arg("annotator_ids"), py::arg("class_ids"),
        py::arg("image"), py::arg("annotator"), py::arg("label"), py::arg("corners"), py::arg("sizes"),
        py::arg("assigned"));
}

}  // namespace bdc::python
