#include "bdc/learn/settled.h"

#include <algorithm>
#include <map>
#include <optional>

#include "bdc/learn/plan/label_worth.h"
#include "learn/bdc/absence_aware/annotator_file.h"

namespace bdc {
namespace {

/// A box belongs to a place that it overlaps by this, as a drawn box does to an object (kDrawnIou).
constexpr double kBelongs = kDrawnIou;
/// A target is what was judged when it overlaps the place by this and is the nearest, or by so much that it can be
/// nothing else.
constexpr double kJudged = 0.5, kSame = 0.75;
/// Candidates less probable than this claim no boxes for themselves.
constexpr double kLikely = 0.02;

/// What the decisions say of the labels of an image.
class ImageDecisions {
 public:
  ImageDecisions(const Targets& before, const Decision* begin, const Decision* end, std::size_t image)
      : begin_(begin), end_(end) {
    for (std::size_t n = before.begin[image]; n < before.begin[image + 1]; ++n) {
      if (existence_of(before, n) < kLikely) continue;
      const bool judged = std::any_of(begin, end, [&](const Decision& d) {
        const double overlap = iou(d.at(), before.box[n]);
        return overlap >= kSame || (overlap >= kJudged && nearest_target(before, image, d) == n);
      });
      if (!judged) rivals_.push_back(before.box[n]);
    }
  }

  /// The decision that a box belongs to, or null: the nearest, unless an undecided candidate is nearer.
  [[nodiscard]] const Decision* owner(const Box& box) const {
    const Decision* best = nullptr;
    double overlap = 0;
    for (const Decision* d = begin_; d != end_; ++d) {
      const double here = std::max(iou(box, d->at()), d->object ? iou(box, d->box) : 0.0);
      if (here >= kBelongs && here > overlap) {
        best = d;
        overlap = here;
      }
    }
    for (const Box& rival : rivals_) {
      if (best != nullptr && iou(box, rival) > overlap) best = nullptr;
    }
    return best;
  }

 private:
  static std::size_t nearest_target(const Targets& before, std::size_t image, const Decision& d) {
    std::size_t best = before.begin[image];
    for (std::size_t n = before.begin[image]; n < before.begin[image + 1]; ++n) {
      if (iou(d.at(), before.box[n]) > iou(d.at(), before.box[best])) best = n;
    }
    return best;
  }

  const Decision *begin_, *end_;
  std::vector<Box> rivals_;
};

/// The crowd without what stands at decided places, and what that says of people.
struct Rest {
  CrowdData crowd;
  std::optional<Predictions> predictions;
  AbsenceAwareEvidence evidence;
  std::vector<double> labels;  ///< by annotator: taken out
};

class Settling {
 public:
  Settling(const FitInput& input, const Decisions& decisions, const Targets& before)
      : input_(input), crowd_(*input.crowd), decisions_(decisions) {
    const std::size_t K = crowd_.annotators.size(), J = crowd_.classes.size();
    begin_.assign(crowd_.images.size() + 1, 0);
    for (const Decision& d : decisions.list) ++begin_[static_cast<std::size_t>(d.image) + 1];
    for (std::size_t i = 0; i < crowd_.images.size(); ++i) begin_[i + 1] += begin_[i];
    out_.evidence.source.resize(K);
    out_.evidence.class_count.assign(J, 0.0);
    out_.labels.assign(K, 0.0);
    counts_.assign(K, {});
    taken_.assign(crowd_.annotations.size(), 0);
    if (input.predictions != nullptr) taken_predictions_.assign(input.predictions->box.size(), 0);
    for (std::size_t i = 0; i < crowd_.images.size(); ++i) {
      if (begin_[i] < begin_[i + 1]) take_image(i, before);
    }
  }

  Rest run() {
    out_.crowd = crowd_;
    std::size_t n = 0;
    auto& left = out_.crowd.annotations;
    left.erase(std::remove_if(left.begin(), left.end(), [&](const Annotation&) { return taken_[n++] != 0; }),
               left.end());
    out_.crowd.finalize();
    if (input_.predictions != nullptr) out_.predictions = predictions_left();
    set_confusion();
    return std::move(out_);
  }

 private:
  void take_image(std::size_t i, const Targets& before) {
    const Decision *first = decisions_.list.data() + begin_[i], *last = decisions_.list.data() + begin_[i + 1];
    const ImageDecisions image(before, first, last, i);
    // Of one person's boxes on an object the nearest is theirs for it, and the others are inventions.
    std::map<std::pair<const Decision*, std::int32_t>, std::size_t> drawn;
    for (std::size_t a = crowd_.annotation_begin[i]; a < crowd_.annotation_begin[i + 1]; ++a) {
      const Annotation& box = crowd_.annotations[a];
      const Decision* owner = image.owner(box.box);
      if (owner == nullptr) continue;
      const auto k = static_cast<std::size_t>(box.annotator);
      taken_[a] = 1;
      out_.labels[k] += 1;
      out_.evidence.source[k].spurious += 1;
      if (!owner->object) continue;
      const auto [known, fresh] = drawn.emplace(std::make_pair(owner, box.annotator), a);
      if (!fresh && iou(box.box, owner->box) > iou(crowd_.annotations[known->second].box, owner->box))
        known->second = a;
    }
    for (const auto& [key, a] : drawn) count_drawn(*key.first, crowd_.annotations[a]);
    for (const Decision* d = first; d != last; ++d) {
      if (!d->object) continue;
      out_.evidence.class_count[static_cast<std::size_t>(d->label)] += 1;
      for (std::size_t s = crowd_.assignment_begin[i]; s < crowd_.assignment_begin[i + 1]; ++s) {
        const std::int32_t k = crowd_.assignments[s].annotator;
        if (drawn.count({d, k}) == 0) out_.evidence.source[static_cast<std::size_t>(k)].missed += 1;
      }
    }
    if (input_.predictions == nullptr) return;
    for (std::size_t n = input_.predictions->begin[i]; n < input_.predictions->begin[i + 1]; ++n) {
      if (image.owner(input_.predictions->box[n]) != nullptr) taken_predictions_[n] = 1;
    }
  }

  /// Nothing of box errors: decided places are often those with the worst boxes, and would say too much against them.
  void count_drawn(const Decision& d, const Annotation& a) {
    const auto k = static_cast<std::size_t>(a.annotator);
    SourceEvidence& s = out_.evidence.source[k];
    s.spurious -= 1;
    s.found += 1;
    if (iou(a.box, d.box) < kDrawnIou) s.loose += 1;
    counts_[k][{a.label, d.label}] += 1;
  }

  void set_confusion() {
    ConfusionColumns& c = out_.evidence.confusion;
    const std::size_t J = crowd_.classes.size();
    c.num_classes = J;
    c.begin.assign(1, 0);
    for (const auto& person : counts_) {
      for (const auto& [key, count] : person) {
        if (c.label.size() == c.begin.back() || c.label.back() != key.first) {
          c.label.push_back(key.first);
          c.value.resize(c.label.size() * J, 0.0);
        }
        c.value[(c.label.size() - 1) * J + static_cast<std::size_t>(key.second)] += count;
      }
      c.begin.push_back(c.label.size());
    }
  }

  [[nodiscard]] Predictions predictions_left() const {
    const Predictions& all = *input_.predictions;
    const auto J = static_cast<std::size_t>(all.num_classes);
    Predictions out;
    out.num_classes = all.num_classes;
    out.begin.push_back(0);
    for (std::size_t i = 0; i + 1 < all.begin.size(); ++i) {
      for (std::size_t n = all.begin[i]; n < all.begin[i + 1]; ++n) {
        if (taken_predictions_[n] != 0) continue;
        out.box.push_back(all.box[n]);
        out.score.push_back(all.score[n]);
        const auto* row = all.class_probs.data() + n * J;
        out.class_probs.insert(out.class_probs.end(), row, row + J);
      }
      out.begin.push_back(out.box.size());
    }
    return out;
  }

  const FitInput& input_;
  const CrowdData& crowd_;
  const Decisions& decisions_;
  std::vector<std::size_t> begin_;
  Rest out_;
  std::vector<std::map<std::pair<std::int32_t, std::int32_t>, double>> counts_;  ///< (given, true)
  std::vector<char> taken_, taken_predictions_;
};

/// As the annotators' file holds it. Everybody saw the images of the crowd, which is counted there.
AnnotatorPosteriors posteriors_of(const CrowdData& crowd, const Rest& rest) {
  AnnotatorPosteriors out = absence_aware::to_posteriors(crowd, rest.evidence);
  for (std::size_t k = 0; k < out.annotators.size(); ++k) {
    out.annotators[k].images = 0;
    out.annotators[k].annotations = rest.labels[k];
  }
  return out;
}

/// The targets with the settled objects of each image behind its others.
Targets with_settled(Targets targets, const Decisions& decisions, std::size_t images) {
  if (targets.begin.size() != images + 1) return targets;  // a rank that does not get them
  targets.make_class_vectors();
  const auto J = static_cast<std::size_t>(targets.num_classes);
  Targets out;
  out.num_classes = targets.num_classes;
  out.begin.push_back(0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < images; ++i) {
    append_image(targets, i, out);
    for (; at < decisions.list.size() && static_cast<std::size_t>(decisions.list[at].image) == i; ++at) {
      const Decision& d = decisions.list[at];
      if (!d.object) continue;
      out.box.push_back(d.box);
      out.class_probs.resize(out.class_probs.size() + J, 0.0);
      out.class_probs[out.class_probs.size() - J + static_cast<std::size_t>(d.label)] = 1;
      out.weight.push_back(1);
      out.score.push_back(1);
      if (!targets.existence.empty()) out.existence.push_back(1);
      if (!targets.located.empty()) out.located.push_back(1);
      if (!targets.box_std.empty()) out.box_std.push_back({0, 0, 0, 0});
    }
    out.begin.back() = out.box.size();
  }
  return out;
}

}  // namespace

SettledFit fit_with_decisions(Learner& learner, const FitInput& input, const Decisions& decisions) {
  check_input(input);
  const CrowdData& crowd = *input.crowd;
  FitInput alone = input;
  alone.whole = Whole::in_all;  // every rank takes the same labels out
  const FitResult before = learner.fit(alone);
  const Rest rest = Settling(input, decisions, before.targets).run();
  SettledFit out;
  for (const Decision& d : decisions.list) ++(d.object ? out.objects : out.nothing);
  for (const double n : rest.labels) out.labels += static_cast<std::size_t>(n);
  FitInput again = input;
  again.crowd = &rest.crowd;
  if (rest.predictions) again.predictions = &*rest.predictions;
  std::optional<AnnotatorPosteriors> learnt, prior;
  out.taught = before.posteriors && before.posteriors->profile == absence_aware::kProfile;
  if (out.taught) {
    learnt = posteriors_of(crowd, rest);
    prior = input.prior != nullptr ? merge(aligned_with(*input.prior, crowd), *learnt) : *learnt;
    again.prior = &*prior;
  }
  out.result = learner.fit(again);
  out.result.targets = with_settled(std::move(out.result.targets), decisions, crowd.images.size());
  if (learnt) {
    const auto alike = out.result.posteriors->alike;
    out.result.posteriors = merge(*out.result.posteriors, *learnt);
    out.result.posteriors->alike = alike;
    fit_recall_prior(*out.result.posteriors);
  }
  return out;
}

}  // namespace bdc
