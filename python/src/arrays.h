#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <vector>

#include "bdc/crowd/box.h"

/// numpy's view of the library's arrays, and the other way round.
namespace bdc::python {

namespace py = pybind11;

static_assert(sizeof(Box) == 4 * sizeof(double), "boxes are seen as rows of four numbers");

/// An array that cannot be written to and looks at memory that `owner` keeps alive.
template <class T>
py::array read_only(const T* data, std::vector<py::ssize_t> shape, std::vector<py::ssize_t> strides, py::handle owner) {
  py::array out(py::dtype::of<T>(), std::move(shape), std::move(strides), data, owner);
  out.attr("setflags")(py::arg("write") = false);
  return out;
}

template <class T>
py::array view(const std::vector<T>& values, py::handle owner) {
  return read_only(values.data(), {static_cast<py::ssize_t>(values.size())}, {sizeof(T)}, owner);
}

/// Rows of `width` numbers.
inline py::array rows(const double* data, std::size_t count, std::size_t width, py::handle owner) {
  const auto bytes = static_cast<py::ssize_t>(sizeof(double));
  return read_only(data, {static_cast<py::ssize_t>(count), static_cast<py::ssize_t>(width)},
                   {static_cast<py::ssize_t>(width) * bytes, bytes}, owner);
}

inline py::array view(const std::vector<Box>& boxes, py::handle owner) {
  return rows(boxes.empty() ? nullptr : &boxes.front().x1, boxes.size(), 4, owner);
}

inline py::array view(const std::vector<std::array<double, 4>>& values, py::handle owner) {
  return rows(values.empty() ? nullptr : values.front().data(), values.size(), 4, owner);
}

/// One member of consecutive records.
template <class T, class Record>
py::array member(const std::vector<Record>& records, T Record::*which, py::handle owner) {
  const T* first = records.empty() ? nullptr : &(records.front().*which);
  return read_only(first, {static_cast<py::ssize_t>(records.size())}, {sizeof(Record)}, owner);
}

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Codes = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

}  // namespace bdc::python
