#include "module.h"

#include "bdc/base/error.h"

PYBIND11_MODULE(_core, m) {
  namespace py = pybind11;
  m.doc() = "The C++ library behind bdc. Use the package bdc.";
  m.attr("__version__") = BDC_VERSION;
  py::register_exception<bdc::DataError>(m, "DataError", PyExc_ValueError);
  bdc::python::add_crowd(m);
  bdc::python::add_table(m);
  bdc::python::add_targets(m);
  bdc::python::add_annotators(m);
  bdc::python::add_learners(m);
  bdc::python::add_metrics(m);
}
