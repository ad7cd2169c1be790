#include "bdc/learn/crowd_rcnn/crowd_rcnn.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/error.h"
#include "learn/learner_state.h"
#include "learn/usable_detections.h"

namespace bdc {
namespace {

constexpr const char* kName = "crowd_rcnn";
constexpr StateForm kStateForm = 5;

/// Columns for every (annotator, class it has given, here or before), all 0.
ConfusionColumns used_columns(const CrowdData& crowd, const AnnotatorPosteriors* prior) {
  std::vector<std::vector<std::int32_t>> given(crowd.annotators.size());
  for (const Annotation& a : crowd.annotations) given[static_cast<std::size_t>(a.annotator)].push_back(a.label);
  ConfusionColumns out;
  out.num_classes = crowd.classes.size();
  out.begin.push_back(0);
  for (std::size_t k = 0; k < given.size(); ++k) {
    std::vector<std::int32_t>& labels = given[k];
    if (prior != nullptr) {
      labels.insert(labels.end(),
                    prior->confusion.label.begin() + static_cast<std::ptrdiff_t>(prior->confusion.begin[k]),
                    prior->confusion.label.begin() + static_cast<std::ptrdiff_t>(prior->confusion.begin[k + 1]));
    }
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    out.label.insert(out.label.end(), labels.begin(), labels.end());
    out.begin.push_back(out.label.size());
  }
  out.value.assign(out.label.size() * out.num_classes, 0.0);
  return out;
}

AnnotatorPosteriors file_of(const CrowdData& crowd, const ConfusionPrior& prior, ConfusionColumns counts) {
  AnnotatorPosteriors out;
  out.profile = kName;
  out.confusion_prior = prior;
  out.classes = crowd.classes;
  out.confusion = std::move(counts);
  out.annotators.resize(crowd.annotators.size());
  for (std::size_t k = 0; k < out.annotators.size(); ++k) {
    out.annotators[k].id = crowd.annotators[k].id;
    out.annotators[k].name = crowd.annotators[k].name;
  }
  for (const Assignment& a : crowd.assignments) out.annotators[static_cast<std::size_t>(a.annotator)].images += 1;
  for (const Annotation& a : crowd.annotations) out.annotators[static_cast<std::size_t>(a.annotator)].annotations += 1;
  return out;
}

}  // namespace

/// Expected counts of the epoch, in the layout of counts_.
class CrowdRcnn::Sums final : public Evidence {
 public:
  explicit Sums(std::size_t size) : counts(size) {}

  [[nodiscard]] std::size_t images() const override { return seen; }
  void merge(const Evidence& other) override {
    const auto* from = dynamic_cast<const Sums*>(&other);
    if (from == nullptr || from->counts.size() != counts.size()) {
      throw std::invalid_argument("evidence of different learners or crowds cannot be merged");
    }
    seen += from->seen;
    log_likelihood.merge(from->log_likelihood);
    for (std::size_t n = 0; n < counts.size(); ++n) counts[n].merge(from->counts[n]);
  }
  [[nodiscard]] std::string save() const override {
    StateWriter state;
    write_state_header(state, kName, kStateForm);
    archive(state, *this);
    return state.take();
  }
  void load(const std::string& bytes) override { *this = read(bytes); }
  void merge_saved(const std::string& bytes) override { merge(read(bytes)); }
  [[nodiscard]] Sums read(const std::string& bytes) const {
    StateReader state(bytes);
    read_state_header(state, kName, kStateForm);
    Sums out = *this;
    archive(state, out);
    state.finish();
    return out;
  }
  template <class Archive, class Self>
  static void archive(Archive& state, Self& self) {
    state(self.seen), state(self.log_likelihood), state(self.counts);
  }

  std::uint64_t seen = 0;
  ExactSum log_likelihood;
  std::vector<ExactSum> counts;
};

CrowdRcnn::CrowdRcnn(const CrowdData& crowd, const CrowdRcnnSettings& settings, const AnnotatorPosteriors* prior)
    : crowd_(crowd), settings_(settings), J_(crowd.classes.size()) {
  if (crowd.annotators.empty() || crowd.annotations.empty()) {
    throw DataError("crowd_rcnn needs annotations of several annotators, and found " +
                    std::to_string(crowd.annotations.size()) + " annotations of " +
                    std::to_string(crowd.annotators.size()) + " annotators");
  }
  if (prior != nullptr) {
    const AnnotatorPosteriors known = aligned_with(*prior, crowd);
    counts_ = used_columns(crowd, &known);
    earlier_.assign(counts_.value.size(), 0.0);
    for (std::size_t k = 0; k < counts_.num_annotators(); ++k) {
      for (std::size_t c = known.confusion.begin[k]; c < known.confusion.begin[k + 1]; ++c) {
        const auto from = known.confusion.value.begin() + static_cast<std::ptrdiff_t>(c * J_);
        const std::size_t to = counts_.find(k, known.confusion.label[c]) * J_;
        std::copy(from, from + static_cast<std::ptrdiff_t>(J_), earlier_.begin() + static_cast<std::ptrdiff_t>(to));
      }
    }
  } else {
    counts_ = used_columns(crowd, nullptr);
  }
  object_begin_.push_back(0);
  for (std::size_t image = 0; image < crowd.images.size(); ++image) add_image(image);
  next_ = std::make_unique<Sums>(counts_.value.size());
  refresh_logs();
  std::vector<double> rho;
  for (int round = 0; round < settings.rounds; ++round) {
    for (const Object& object : objects_) {
      const double log_likelihood = expect(object, nullptr, rho);
      count(object, rho, log_likelihood);
    }
    (void)finish_epoch();
  }
}

CrowdRcnn::~CrowdRcnn() = default;

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
  const std::size_t K = counts_.num_annotators();
  const auto x_log_x = [](double x) { return x * std::log(x); };
  log_prior_ = 0;
  log_given_.resize(counts_.value.size());
  log_row_.assign(K * J_, row_prior);
  std::vector<double> row_of_prior(K * J_, row_prior);
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t c = counts_.begin[k]; c < counts_.begin[k + 1]; ++c) {
      for (std::size_t j = 0; j < J_; ++j) {
        const double n = counts_.value[c * J_ + j];
        const bool same = static_cast<std::size_t>(counts_.label[c]) == j;
        const double before = (same ? prior.diagonal : prior.off_diagonal) + earlier(c * J_ + j);
        log_given_[c * J_ + j] = std::log(before + n);
        log_row_[k * J_ + j] += earlier(c * J_ + j) + n;
        log_prior_ += before * log_given_[c * J_ + j];
        row_of_prior[k * J_ + j] += earlier(c * J_ + j);
      }
    }
    // Classes never given stay at the prior.
    const auto used = static_cast<double>(counts_.begin[k + 1] - counts_.begin[k]);
    const double unused = static_cast<double>(J_) - used;
    log_prior_ += unused * (x_log_x(prior.diagonal) + (used + unused - 1) * x_log_x(prior.off_diagonal));
  }
  for (std::size_t n = 0; n < log_row_.size(); ++n) {
    log_row_[n] = std::log(log_row_[n]);
    log_prior_ -= row_of_prior[n] * log_row_[n];
  }
}

/// rho, and as the result ln sum_j p_j product s^k_jl.
double CrowdRcnn::expect(const Object& object, const double* prior, std::vector<double>& rho) const {
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
  return largest + std::log(sum) - (prior != nullptr ? 0.0 : std::log(static_cast<double>(J_)));
}

void CrowdRcnn::count(const Object& object, const std::vector<double>& rho, double log_likelihood) {
  for (std::size_t m = object.first_member; m < object.last; ++m) {
    ExactSum* into = next_->counts.data() + member_[m].column * J_;
    for (std::size_t j = 0; j < J_; ++j) into[j].add(rho[j]);
  }
  next_->log_likelihood.add(log_likelihood);
}

void CrowdRcnn::append(const Object& object, const std::vector<double>& rho, Targets& to) const {
  to.num_classes = static_cast<int>(J_);
  to.box.push_back(object.box);
  to.class_probs.insert(to.class_probs.end(), rho.begin(), rho.end());
  to.weight.push_back(1.0);
  to.score.push_back(object.share * *std::max_element(rho.begin(), rho.end()));
}

/// The classes of the detection that overlaps the object most; null: none does by enough.
const double* CrowdRcnn::classes_seen(const Object& object, const DetectedBoxes& detections) const {
  double best = settings_.detector_iou;
  const double* out = nullptr;
  for (std::size_t d = 0; d < detections.box.size(); ++d) {
    const double overlap = iou(object.box, detections.box[d]);
    if (overlap > best || (out == nullptr && overlap >= best)) {
      best = overlap;
      out = detections.class_probs.data() + d * J_;
    }
  }
  return out;
}

Targets CrowdRcnn::observe(std::size_t image, const DetectedBoxes& given) {
  const DetectedBoxes detections = usable_detections(given);
  Targets out;
  out.num_classes = static_cast<int>(J_);
  out.begin.push_back(0);
  std::vector<double> rho;
  for (std::size_t o = object_begin_[image]; o < object_begin_[image + 1]; ++o) {
    const Object& object = objects_[o];
    const double log_likelihood = expect(object, classes_seen(object, detections), rho);
    count(object, rho, log_likelihood);
    append(object, rho, out);
  }
  ++next_->seen;
  out.begin.push_back(out.box.size());
  return out;
}

void CrowdRcnn::append_targets(std::size_t image, const DetectedBoxes& detections, Targets& to) const {
  if (to.begin.empty()) to.begin.push_back(0);
  to.num_classes = static_cast<int>(J_);
  std::vector<double> rho;
  for (std::size_t o = object_begin_[image]; o < object_begin_[image + 1]; ++o) {
    (void)expect(objects_[o], classes_seen(objects_[o], detections), rho);
    append(objects_[o], rho, to);
  }
  to.begin.push_back(to.box.size());
}

Targets CrowdRcnn::without_detector() const {
  Targets out;
  for (std::size_t image = 0; image + 1 < object_begin_.size(); ++image) append_targets(image, {}, out);
  return out;
}

Evidence& CrowdRcnn::evidence() {
  return *next_;
}

double CrowdRcnn::finish_epoch() {
  const double bound = next_->log_likelihood.value() + log_prior_;
  for (std::size_t n = 0; n < counts_.value.size(); ++n) counts_.value[n] = next_->counts[n].value();
  *next_ = Sums(counts_.value.size());
  refresh_logs();
  return bound;
}

double CrowdRcnn::sensitivity(std::size_t annotator, std::size_t true_class, std::int32_t given) const {
  const std::size_t c = counts_.find(annotator, given), n = c * J_ + true_class;
  const bool same = static_cast<std::size_t>(given) == true_class;
  const double prior = same ? settings_.prior.diagonal : settings_.prior.off_diagonal;
  const double counted = c == ConfusionColumns::npos ? 0.0 : earlier(n) + counts_.value[n];
  return (prior + counted) / std::exp(log_row_[annotator * J_ + true_class]);
}

AnnotatorPosteriors CrowdRcnn::posteriors() const {
  return file_of(crowd_, settings_.prior, counts_);
}

AnnotatorPosteriors CrowdRcnn::nothing_learnt(const CrowdData& crowd, const CrowdRcnnSettings& settings) {
  return file_of(crowd, settings.prior, used_columns(crowd, nullptr));
}

std::string CrowdRcnn::save() const {
  StateWriter state;
  write_state_header(state, kName, kStateForm);
  state(counts_.value);
  Sums::archive(state, *next_);
  return state.take();
}

void CrowdRcnn::load(const std::string& bytes) {
  StateReader state(bytes);
  read_state_header(state, kName, kStateForm);
  std::vector<double> counts(counts_.value.size());
  Sums next(counts_.value.size());
  state(counts);
  Sums::archive(state, next);
  state.finish();
  counts_.value = std::move(counts);
  *next_ = std::move(next);
  refresh_logs();
}

}  // namespace bdc
