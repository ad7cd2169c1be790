#include "bdc/learn/crowd_rcnn/crowd_rcnn.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/error.h"
#include "bdc/base/state_bytes.h"

namespace bdc {
namespace {

constexpr std::uint32_t kStateVersion = 1;

/// Columns for every (annotator, class it has given), all 0.
ConfusionColumns used_columns(const CrowdData& crowd) {
  std::vector<std::vector<std::int32_t>> given(crowd.annotators.size());
  for (const Annotation& a : crowd.annotations) given[static_cast<std::size_t>(a.annotator)].push_back(a.label);
  ConfusionColumns out;
  out.num_classes = crowd.classes.size();
  out.begin.push_back(0);
  for (auto& labels : given) {
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    out.label.insert(out.label.end(), labels.begin(), labels.end());
    out.begin.push_back(out.label.size());
  }
  out.value.assign(out.label.size() * out.num_classes, 0.0);
  return out;
}

}  // namespace

CrowdRcnn::CrowdRcnn(const CrowdData& crowd, const CrowdRcnnSettings& settings)
    : crowd_(crowd), settings_(settings), J_(crowd.classes.size()), counts_(used_columns(crowd)) {
  if (crowd.annotators.empty() || crowd.annotations.empty()) {
    throw DataError("crowd_rcnn needs annotations of several annotators, and found " +
                    std::to_string(crowd.annotations.size()) + " annotations of " +
                    std::to_string(crowd.annotators.size()) + " annotators");
  }
  object_begin_.push_back(0);
  for (std::size_t image = 0; image < crowd.images.size(); ++image) add_image(image);
  next_.assign(counts_.value.size(), 0.0);
  refresh_logs();
  std::vector<double> rho;
  for (int round = 0; round < settings.rounds; ++round) {
    for (const Object& object : objects_) {
      expect(object, nullptr, rho);
      count(object, rho);
    }
    finish_epoch();
  }
}

void CrowdRcnn::add_image(std::size_t image) {
  const std::size_t first = crowd_.annotation_begin[image], count = crowd_.annotation_begin[image + 1] - first;
  std::vector<Box> boxes(count);
  std::vector<std::int32_t> annotators(count);
  const ImageRecord& record = crowd_.images[image];
  const double width = record.width > 0 ? record.width : 1, height = record.height > 0 ? record.height : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Annotation& a = crowd_.annotations[first + i];
    boxes[i] = {a.box.x1 / width, a.box.y1 / height, a.box.x2 / width, a.box.y2 / height};
    annotators[i] = a.annotator;
  }
  Groups groups;
  group_by_best_overlap({boxes.data(), count}, {annotators.data(), count}, settings_.group_iou, groups);
  const auto seen_by = static_cast<double>(crowd_.assignment_begin[image + 1] - crowd_.assignment_begin[image]);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto members = groups[g];
    Object object;
    object.first_member = member_.size();
    for (const std::int32_t m : members) {
      const Annotation& a = crowd_.annotations[first + static_cast<std::size_t>(m)];
      object.box.x1 += a.box.x1;
      object.box.y1 += a.box.y1;
      object.box.x2 += a.box.x2;
      object.box.y2 += a.box.y2;
      member_.push_back({counts_.find(static_cast<std::size_t>(a.annotator), a.label), a.annotator});
    }
    object.last = member_.size();
    const auto n = static_cast<double>(members.size());
    object.box = {object.box.x1 / n, object.box.y1 / n, object.box.x2 / n, object.box.y2 / n};
    object.share = std::min(1.0, n / std::max(1.0, seen_by));
    objects_.push_back(object);
  }
  object_begin_.push_back(objects_.size());
}

void CrowdRcnn::refresh_logs() {
  const ConfusionPrior& prior = settings_.prior;
  const double row_prior = prior.diagonal + prior.off_diagonal * static_cast<double>(J_ - 1);
  log_given_.resize(counts_.value.size());
  log_row_.assign(crowd_.annotators.size() * J_, row_prior);
  for (std::size_t k = 0; k < counts_.num_annotators(); ++k) {
    for (std::size_t c = counts_.begin[k]; c < counts_.begin[k + 1]; ++c) {
      for (std::size_t j = 0; j < J_; ++j) {
        const double n = counts_.value[c * J_ + j];
        const bool same = static_cast<std::size_t>(counts_.label[c]) == j;
        log_given_[c * J_ + j] = std::log((same ? prior.diagonal : prior.off_diagonal) + n);
        log_row_[k * J_ + j] += n;
      }
    }
  }
  for (double& row : log_row_) row = std::log(row);
}

void CrowdRcnn::expect(const Object& object, const double* prior, std::vector<double>& rho) const {
  constexpr double kLeast = 1e-12;  // a detector's class of probability 0 must not overrule everybody
  rho.assign(J_, 0.0);
  for (std::size_t j = 0; j < J_; ++j) {
    if (prior) rho[j] = std::log(std::max(prior[j], kLeast));
  }
  for (std::size_t m = object.first_member; m < object.last; ++m) {
    const double* given = log_given_.data() + member_[m].column * J_;
    const double* row = log_row_.data() + static_cast<std::size_t>(member_[m].annotator) * J_;
    for (std::size_t j = 0; j < J_; ++j) rho[j] += given[j] - row[j];
  }
  const double largest = *std::max_element(rho.begin(), rho.end());
  double sum = 0;
  for (double& r : rho) sum += r = std::exp(r - largest);
  for (double& r : rho) r /= sum;
}

void CrowdRcnn::count(const Object& object, const std::vector<double>& rho) {
  for (std::size_t m = object.first_member; m < object.last; ++m) {
    double* into = next_.data() + member_[m].column * J_;
    for (std::size_t j = 0; j < J_; ++j) into[j] += rho[j];
  }
}

void CrowdRcnn::append(const Object& object, const std::vector<double>& rho, Targets& to) const {
  to.num_classes = static_cast<int>(J_);
  to.box.push_back(object.box);
  to.class_probs.insert(to.class_probs.end(), rho.begin(), rho.end());
  to.weight.push_back(1.0);
  to.score.push_back(object.share * *std::max_element(rho.begin(), rho.end()));
}

Targets CrowdRcnn::observe(std::size_t image, const DetectedBoxes& detections) {
  Targets out;
  out.num_classes = static_cast<int>(J_);
  out.begin.push_back(0);
  std::vector<double> rho;
  for (std::size_t o = object_begin_[image]; o < object_begin_[image + 1]; ++o) {
    const Object& object = objects_[o];
    double best = settings_.detector_iou;
    const double* prior = nullptr;
    for (std::size_t d = 0; d < detections.box.size(); ++d) {
      const double overlap = iou(object.box, detections.box[d]);
      if (overlap > best || (prior == nullptr && overlap >= best)) {
        best = overlap;
        prior = detections.class_probs.data() + d * J_;
      }
    }
    expect(object, prior, rho);
    count(object, rho);
    append(object, rho, out);
  }
  out.begin.push_back(out.box.size());
  return out;
}

Targets CrowdRcnn::without_detector() const {
  Targets out;
  out.num_classes = static_cast<int>(J_);
  out.begin.push_back(0);
  std::vector<double> rho;
  for (std::size_t image = 0; image + 1 < object_begin_.size(); ++image) {
    for (std::size_t o = object_begin_[image]; o < object_begin_[image + 1]; ++o) {
      expect(objects_[o], nullptr, rho);
      append(objects_[o], rho, out);
    }
    out.begin.push_back(out.box.size());
  }
  return out;
}

void CrowdRcnn::finish_epoch() {
  counts_.value = next_;
  std::fill(next_.begin(), next_.end(), 0.0);
  refresh_logs();
}

double CrowdRcnn::sensitivity(std::size_t annotator, std::size_t true_class, std::int32_t given) const {
  const bool same = static_cast<std::size_t>(given) == true_class;
  const double prior = same ? settings_.prior.diagonal : settings_.prior.off_diagonal;
  return (prior + counts_.at(annotator, true_class, given, 0.0)) / std::exp(log_row_[annotator * J_ + true_class]);
}

AnnotatorPosteriors CrowdRcnn::posteriors() const {
  AnnotatorPosteriors out;
  out.profile = "crowd_rcnn";
  out.confusion_prior = settings_.prior;
  out.classes = crowd_.classes;
  out.confusion = counts_;
  out.annotators.resize(crowd_.annotators.size());
  for (std::size_t k = 0; k < out.annotators.size(); ++k) {
    out.annotators[k].id = crowd_.annotators[k].id;
    out.annotators[k].name = crowd_.annotators[k].name;
  }
  for (const Assignment& a : crowd_.assignments) out.annotators[static_cast<std::size_t>(a.annotator)].images += 1;
  for (const Annotation& a : crowd_.annotations) out.annotators[static_cast<std::size_t>(a.annotator)].annotations += 1;
  return out;
}

std::string CrowdRcnn::save() const {
  StateWriter state;
  state(kStateVersion);
  state(counts_.value);
  state(next_);
  return state.take();
}

void CrowdRcnn::load(const std::string& bytes) {
  StateReader state(bytes);
  std::uint32_t version = 0;
  state(version);
  if (version != kStateVersion) throw std::invalid_argument("the state of crowd_rcnn is of another version");
  std::vector<double> counts(counts_.value.size()), next(next_.size());
  state(counts);
  state(next);
  state.finish();
  counts_.value = std::move(counts);
  next_ = std::move(next);
  refresh_logs();
}

}  // namespace bdc
