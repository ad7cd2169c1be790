#include <pybind11/stl.h>

#include <sstream>

#include "arrays.h"
#include "bdc/base/atomic_file.h"
#include "bdc/learn/annotator_figures.h"
#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/learners.h"
#include "module.h"

namespace bdc::python {
namespace {

/// mean, low, high, determined of a figure, an array each; where the labels do not determine it: NaN.
template <class Figures>
py::dict figures(std::size_t count, const Figures& figure) {
  const auto size = static_cast<py::ssize_t>(count);
  py::array_t<double> mean(size), low(size), high(size);
  for (std::size_t k = 0; k < count; ++k) {
    const Figure one = figure(k);
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    mean.mutable_data()[k] = one.determined ? one.mean : unknown;
    low.mutable_data()[k] = one.low;
    high.mutable_data()[k] = one.high;
  }
  py::dict out;
  out["mean"] = mean;
  out["low"] = low;
  out["high"] = high;
  return out;
}

py::dict all_figures(const AnnotatorPosteriors& p) {
  using Whole = Figure (*)(const AnnotatorPosteriors&, std::size_t);
  const LearnerTraits& traits = learner_traits(p.profile);
  std::vector<std::pair<const char*, Whole>> wanted{{"quality", quality_figure}};
  if (p.tells_recall()) {
    wanted.emplace_back("recall", recall_figure);
    wanted.emplace_back("spurious", spurious_figure);
  }
  if (p.tells_classes()) wanted.emplace_back("accuracy", accuracy_figure);
  if (traits.knows_boxes) wanted.emplace_back("box_noise", box_noise_figure);
  py::dict out;
  const std::size_t count = p.annotators.size();
  for (const auto& [name, of] : wanted) {
    out[name] = figures(count, [&, of = of](std::size_t k) { return of(p, k); });
  }
  for (std::size_t i = 0; traits.knows_boxes && i < 4; ++i) {
    out[py::str("bias_" + traits.box_error.name[i])] =
        figures(count, [&](std::size_t k) { return bias_figures(p, k)[i]; });
  }
  return out;
}

py::array_t<double> confusion(const AnnotatorPosteriors& p, std::size_t k) {
  if (k >= p.annotators.size()) throw py::index_error("there is no annotator " + std::to_string(k));
  const std::size_t J = p.classes.size();
  py::array_t<double> out({J, J});
  double* to = out.mutable_data();
  for (std::size_t j = 0; j < J; ++j) {
    double sum = 0;
    for (std::size_t l = 0; l < J; ++l) sum += to[j * J + l] = p.alpha(k, j, l);
    for (std::size_t l = 0; l < J; ++l) to[j * J + l] /= sum;
  }
  return out;
}

}  // namespace

void add_annotators(py::module_& m) {
  using P = AnnotatorPosteriors;
  const auto counts = [](double AnnotatorEvidence::*which) {
    return [which](const P& p) {
      py::array_t<double> out(static_cast<py::ssize_t>(p.annotators.size()));
      for (std::size_t k = 0; k < p.annotators.size(); ++k) out.mutable_data()[k] = p.annotators[k].*which;
      return out;
    };
  };
  py::class_<P, std::shared_ptr<P>>(m, "Posteriors")
      .def("__len__", [](const P& p) { return p.annotators.size(); })
      .def_property_readonly("profile", [](const P& p) { return p.profile; })
      .def_property_readonly("ids",
                             [](const P& p) {
                               py::list out;
                               for (const auto& a : p.annotators) out.append(to_python(a.id));
                               return out;
                             })
      .def_property_readonly("names",
                             [](const P& p) {
                               py::list out;
                               for (const auto& a : p.annotators)
                                 out.append(py::str(a.name.empty() ? a.id.text : a.name));
                               return out;
                             })
      .def_property_readonly("class_names",
                             [](const P& p) {
                               py::list out;
                               for (const auto& c : p.classes) out.append(py::str(c.name));
                               return out;
                             })
      .def_property_readonly("images", counts(&AnnotatorEvidence::images))
      .def_property_readonly("annotations", counts(&AnnotatorEvidence::annotations))
      .def("figures", &all_figures)
      .def("confusion", &confusion, py::arg("k"))
      .def("write",
           [](const P& p, const std::string& path) {
             AtomicFile out(path);
             write_annotator_posteriors(out.stream(), p);
             out.commit();
           })
      .def("text", [](const P& p) {
        std::ostringstream out;
        write_annotator_posteriors(out, p);
        return out.str();
      });
  // What the file of these annotators would be read as: a prior from memory has the bits of one from a file.
  m.def(
      "as_from_file",
      [](const P& p) {
        std::stringstream text;
        write_annotator_posteriors(text, p);
        return std::make_shared<P>(read_annotator_posteriors(text, "prior"));
      },
      py::arg("annotators"));
  m.def(
      "parse_annotators",
      [](const std::string& text) {
        std::istringstream in(text);
        return std::make_shared<P>(read_annotator_posteriors(in, "annotators"));
      },
      py::arg("text"));
  m.def(
      "read_annotators", [](const std::string& path) { return std::make_shared<P>(read_annotator_posteriors(path)); },
      py::arg("path"));
}

}  // namespace bdc::python
