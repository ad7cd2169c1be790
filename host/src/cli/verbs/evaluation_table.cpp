#include "cli/verbs/evaluation_table.h"

#include <ostream>

#include "bdc/base/table.h"

namespace bdc::host {

void print_evaluation(std::ostream& out, const CocoEvalResult& evaluation,
                      const std::vector<std::string>& class_names) {
  Table table({"class", "objects", "AP50", "AP75", "AP"});
  for (std::size_t c = 1; c < 5; ++c) table.align_right(c);
  const auto cell = [](double value) { return value < 0 ? std::string("-") : fixed(value, 3); };
  std::size_t objects = 0;
  for (std::size_t c = 0; c < evaluation.classes.size(); ++c) {
    const auto& one = evaluation.classes[c];
    objects += one.truth_count;
    table.add({class_names[c], std::to_string(one.truth_count), cell(one.ap50), cell(one.ap75), cell(one.ap)});
  }
  table.add({"all", std::to_string(objects), cell(evaluation.stats[1]), cell(evaluation.stats[2]),
             cell(evaluation.stats[0])});
  table.print(out);
}

}  // namespace bdc::host
