#include "bdc/crowd/targets.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "arrays.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/consensus.h"
#include "module.h"
#include "pickling.h"

namespace bdc::python {
namespace {

Targets& of(const py::object& self) {
  return self.cast<Targets&>();
}

/// Images of the targets, one each.
py::array_t<std::int32_t> images(const Targets& targets) {
  py::array_t<std::int32_t> out(static_cast<py::ssize_t>(targets.box.size()));
  auto* to = out.mutable_data();
  for (std::size_t i = 0; i + 1 < targets.begin.size(); ++i) {
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) to[n] = static_cast<std::int32_t>(i);
  }
  return out;
}

py::array_t<std::int32_t> labels(const Targets& targets) {
  py::array_t<std::int32_t> out(static_cast<py::ssize_t>(targets.box.size()));
  auto* to = out.mutable_data();
  for (std::size_t n = 0; n < targets.box.size(); ++n) to[n] = targets.label(n);
  return out;
}

py::tuple to_pickle(const Targets& t) {
  return py::make_tuple(BDC_VERSION, t.num_classes, to_bytes(t.box), to_bytes(t.class_probs), to_bytes(t.hard_label),
                        to_bytes(t.weight), to_bytes(t.score), to_bytes(t.existence), to_bytes(t.located),
                        to_bytes(t.box_std), to_bytes(t.begin));
}

std::shared_ptr<Targets> from_pickle(const py::tuple& state) {
  check_pickle(state, 11);
  auto t = std::make_shared<Targets>();
  t->num_classes = state[1].cast<int>();
  t->box = from_bytes<Box>(state[2]);
  t->class_probs = from_bytes<double>(state[3]);
  t->hard_label = from_bytes<std::int32_t>(state[4]);
  t->weight = from_bytes<double>(state[5]);
  t->score = from_bytes<double>(state[6]);
  t->existence = from_bytes<double>(state[7]);
  t->located = from_bytes<double>(state[8]);
  t->box_std = from_bytes<std::array<double, 4>>(state[9]);
  t->begin = from_bytes<std::size_t>(state[10]);
  const std::size_t T = t->box.size(), J = static_cast<std::size_t>(t->num_classes);
  const auto fits = [&](std::size_t size) { return size == 0 || size == T; };
  const bool right = t->num_classes >= 0 && (t->class_probs.size() == T * J || t->class_probs.empty()) &&
                     fits(t->hard_label.size()) && t->class_probs.size() + t->hard_label.size() >= T &&
                     t->weight.size() == T && t->score.size() == T && fits(t->existence.size()) &&
                     fits(t->located.size()) && fits(t->box_std.size()) && !t->begin.empty() && t->begin[0] == 0 &&
                     t->begin.back() == T && std::is_sorted(t->begin.begin(), t->begin.end());
  if (!right) throw DataError("a damaged pickle");
  return t;
}

py::object optional_view(const py::object& self, std::vector<double> Targets::*which) {
  const auto& values = of(self).*which;
  if (values.empty() && !of(self).box.empty()) return py::none();
  return view(values, self);
}

}  // namespace

void add_targets(py::module_& m) {
  py::class_<Targets, std::shared_ptr<Targets>>(m, "Targets")
      .def("__len__", [](const Targets& t) { return t.box.size(); })
      .def(py::pickle(&to_pickle, &from_pickle))
      .def_property_readonly("boxes", [](const py::object& t) { return view(of(t).box, t); })
      .def_property_readonly("class_probs",
                             [](const py::object& self) {
                               Targets& t = of(self);
                               t.make_class_vectors();
                               return rows(t.class_probs.data(), t.box.size(), static_cast<std::size_t>(t.num_classes),
                                           self);
                             })
      .def_property_readonly("weight", [](const py::object& t) { return view(of(t).weight, t); })
      .def_property_readonly("score", [](const py::object& t) { return view(of(t).score, t); })
      .def_property_readonly("existence", [](const py::object& t) { return optional_view(t, &Targets::existence); })
      .def_property_readonly("located", [](const py::object& t) { return optional_view(t, &Targets::located); })
      .def_property_readonly("box_std",
                             [](const py::object& t) -> py::object {
                               const auto& values = of(t).box_std;
                               if (values.empty() && !of(t).box.empty()) return py::none();
                               return view(values, t);
                             })
      .def_property_readonly("image", &images)
      .def_property_readonly("label", &labels)
      .def_property_readonly("num_classes", [](const Targets& t) { return t.num_classes; })
      .def_property_readonly("begin", [](const py::object& t) { return view(of(t).begin, t); });
  m.def(
      "strong_targets",
      [](const Targets& targets, double min_existence, double min_score) {
        return std::make_shared<Targets>(strong_targets(targets, min_existence, min_score, nullptr));
      },
      py::arg("targets"), py::arg("min_existence"), py::arg("min_score"));
  m.def(
      "write_consensus",
      [](const Targets& targets, const Crowd& crowd, const std::string& path, const std::string& format) {
        ConsensusOptions options;
        options.format = format;
        return write_consensus(targets, crowd.data, path, options).text();
      },
      py::arg("targets"), py::arg("crowd"), py::arg("path"), py::arg("format"),
      py::call_guard<py::gil_scoped_release>());
}

}  // namespace bdc::python
