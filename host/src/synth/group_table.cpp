#include "synth/group_table.h"

#include <ostream>

#include "bdc/base/table.h"
#include "bdc/metrics/measured_annotators.h"
#include "synth/drawn_quality.h"

namespace bdc::host {

void print_groups(std::ostream& out, const CrowdData& crowd, const std::vector<CrowdMember>& members,
                  const std::vector<std::int32_t>& drawn_for) {
  const auto measured = measure_annotators(crowd);
  const auto drawn = measure_drawings(crowd, drawn_for);
  Table table({"skill", "annotators", "images each", "boxes", "drawn", "found", "unmatched/image", "class accuracy",
               "box noise", "box IoU"});
  for (std::size_t c = 1; c < 10; ++c) table.align_right(c);
  for (std::size_t from = 0; from < members.size();) {
    std::size_t to = from;
    MeasuredAnnotator sum;
    double noise = 0, overlap = 0, boxes = 0, objects = 0;
    while (to < members.size() && members[to].self.skill == members[from].self.skill) {
      overlap += drawn[to].mean_iou * drawn[to].drawn, boxes += drawn[to].drawn, objects += drawn[to].objects;
      const MeasuredAnnotator& m = measured[to++];
      sum.images += m.images, sum.objects += m.objects, sum.boxes += m.boxes, sum.found += m.found;
      sum.right_class += m.right_class;
      noise += m.box_noise();
    }
    const auto n = static_cast<double>(to - from);
    // Nobody knows what a detector's boxes were drawn for.
    table.add({members[from].self.skill, std::to_string(to - from), fixed(static_cast<double>(sum.images) / n, 1),
               std::to_string(sum.boxes), boxes > 0 ? fixed(boxes / objects, 3) : "-", fixed(sum.recall(), 3),
               fixed(sum.spurious_per_image(), 3), fixed(sum.accuracy(), 3), fixed(noise / n, 3),
               boxes > 0 ? fixed(overlap / boxes, 3) : "-"});
    from = to;
  }
  out << "Measured against the truth. drawn: share of the objects that a box was drawn for, however badly (the recall "
         "of "
         "--parameters);\nfound: share that a box overlaps by IoU 0.3, unmatched: boxes that overlap none; class "
         "accuracy "
         "and box noise: of boxes\nthat found one; box IoU: of each box with the object it was drawn for\n";
  table.print(out);
}

}  // namespace bdc::host
