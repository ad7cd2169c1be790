#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"

/// The parts of the module _core. What people call stands in the Python files; here are the library's objects.
namespace bdc::python {

namespace py = pybind11;

/// Labels, and what was taken where their files leave a choice.
struct Crowd {
  CrowdData data;
  std::vector<std::string> notes;
};

/// An id as Python has it: an int or a str.
[[nodiscard]] py::object to_python(const ExternalId& id);
[[nodiscard]] ExternalId to_id(py::handle value);

/// Options of reading by the names that bdc-host uses, with underscores. Throws ValueError for unknown ones.
[[nodiscard]] ReadOptions read_options(const py::dict& options);

void add_crowd(py::module_& m);
void add_table(py::module_& m);
void add_targets(py::module_& m);
void add_annotators(py::module_& m);
void add_learners(py::module_& m);
void add_metrics(py::module_& m);

}  // namespace bdc::python
