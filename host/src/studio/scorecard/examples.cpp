#include "studio/scorecard/examples.h"

#include <algorithm>

#include "bdc/crowd/geometry.h"
#include "studio/report/gallery_view.h"

namespace bdc::host {
namespace {

constexpr double kSure = 0.6;    // from here on an object counts as one
constexpr double kApart = 0.05;  // below this IoU two boxes have nothing to do with each other

/// What of an image is about one annotator.
struct Seen {
  std::size_t image = 0;
  std::vector<std::size_t> own;  ///< annotations
};

void keep_clearest(std::vector<Example>& list, std::size_t most) {
  std::stable_sort(list.begin(), list.end(), [](const Example& a, const Example& b) { return a.sure > b.sure; });
  if (list.size() > most) list.resize(most);
}

/// The clearest of one image; of equal ones the first.
void add_clearest(std::vector<Example>& to, const std::vector<Example>& of_image) {
  const auto best = std::max_element(of_image.begin(), of_image.end(),
                                     [](const Example& a, const Example& b) { return a.sure < b.sure; });
  if (best != of_image.end()) to.push_back(*best);
}

void compare(const ReportData& data, const Seen& seen, Examples& out) {
  const CrowdData& crowd = data.crowd;
  const Targets& t = data.methods.front().targets;
  std::vector<Example> missed, loose, placed, extra, confused;
  for (std::size_t n = t.begin[seen.image]; n < t.begin[seen.image + 1]; ++n) {
    const double sure = sureness(t, n);
    if (sure < kSure) continue;
    double nearest = 0;
    for (const std::size_t a : seen.own) nearest = std::max(nearest, iou(crowd.annotations[a].box, t.box[n]));
    if (nearest < kApart) missed.push_back({seen.image, t.box[n], -1, t.label(n), sure});
    if (nearest >= kApart && nearest < kSameObject)
      loose.push_back({seen.image, t.box[n], -1, t.label(n), sure, nearest});
    if (nearest >= kSameObject) placed.push_back({seen.image, t.box[n], -1, t.label(n), 1 - nearest, nearest});
  }
  for (const std::size_t a : seen.own) {
    const Annotation& drawn = crowd.annotations[a];
    double best = 0, doubt = 1;
    std::size_t object = 0;
    for (std::size_t n = t.begin[seen.image]; n < t.begin[seen.image + 1]; ++n) {
      const double overlap = iou(drawn.box, t.box[n]);
      if (overlap >= kApart) doubt = std::min(doubt, 1 - sureness(t, n));
      if (overlap > best) best = overlap, object = n;
    }
    if (doubt >= kSure) extra.push_back({seen.image, drawn.box, drawn.label, -1, doubt});
    if (best < kSameObject || sureness(t, object) < kSure) continue;
    const std::int32_t label = t.label(object);
    const double class_sure = t.class_prob(object, static_cast<std::size_t>(label));
    if (label != drawn.label && class_sure >= kSure) {
      confused.push_back({seen.image, drawn.box, drawn.label, label, class_sure});
    }
  }
  add_clearest(out.missed, missed);
  add_clearest(out.loose, loose);
  add_clearest(out.drawn, placed);
  add_clearest(out.extra, extra);
  add_clearest(out.confused, confused);
}

}  // namespace

Examples examples_of(const ReportData& data, std::size_t k, std::size_t most) {
  Examples out;
  if (data.methods.empty()) return out;
  const CrowdData& crowd = data.crowd;
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    bool saw = false;
    for (std::size_t m = crowd.assignment_begin[i]; m < crowd.assignment_begin[i + 1]; ++m) {
      saw = saw || static_cast<std::size_t>(crowd.assignments[m].annotator) == k;
    }
    if (!saw) continue;
    Seen seen{i, {}};
    for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
      if (static_cast<std::size_t>(crowd.annotations[n].annotator) == k) seen.own.push_back(n);
    }
    compare(data, seen, out);
  }
  for (std::vector<Example>* list : {&out.missed, &out.loose, &out.drawn, &out.extra, &out.confused})
    keep_clearest(*list, most);
  return out;
}

}  // namespace bdc::host
