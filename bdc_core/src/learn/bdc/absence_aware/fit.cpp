#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/free_memory.h"
#include "bdc/base/parallel.h"
#include "bdc/learn/bdc/absence_aware.h"
#include "learn/bdc/absence_aware/class_sets.h"
#include "learn/bdc/absence_aware/edge_noise.h"
#include "learn/bdc/absence_aware/evidence.h"
#include "learn/bdc/absence_aware/evidence_numbers.h"
#include "learn/bdc/absence_aware/image_pass.h"
#include "learn/bdc/absence_aware/image_share.h"
#include "learn/bdc/absence_aware/image_targets.h"
#include "learn/bdc/absence_aware/label_agreement.h"
#include "learn/bdc/absence_aware/label_counts.h"
#include "learn/bdc/absence_aware/object_rate.h"
#include "learn/bdc/absence_aware/own_labels.h"
#include "learn/bdc/absence_aware/partition.h"
#include "learn/bdc/absence_aware/problem.h"
#include "learn/bdc/absence_aware/shared_errors.h"
#include "learn/bdc/absence_aware/single_boxes.h"
#include "learn/bdc/absence_aware/source_update.h"
#include "learn/bdc/absence_aware/vote_shares.h"

namespace bdc {
namespace absence_aware {
namespace {

constexpr std::size_t kImagesPerChunk = ImageShare::kImagesPerChunk, kImagesPerTrim = 8192;
/// Of a tiny crowd's bound a millionth is a rise that means nothing; it is measured against this instead.
constexpr double kSmallBound = 2e4;
/// Added for every source: strengths of a thousand annotators creep up for many rounds, a little each, and nothing that
/// could be said of anybody, or of a target, moves. Where there are many, each of the further ones is known little.
constexpr double kBoundPerSource = 1e4, kBoundPerFurtherSource = 1e5, kFewSources = 100;
/// Added for every box of a large crowd beyond those that make it one: a thousandth of a nat for each is as little.
constexpr double kBoundPerFurtherBox = 1e3;
constexpr double kLeastPower = 0, kMostPower = 1.25, kLeastTail = 1.5, kMostTail = 200;
constexpr double kFirstPowerStep = 0.25, kFirstTailStep = 0.7;

/// The fit of one crowd: the state of this rank's images, the beliefs, and one member function per update. Beliefs are
/// the same in all ranks: they follow from sums over the images of all.
class Fit {
 public:
  Fit(const CrowdData& crowd, const Predictions* predictions, const AbsenceAwareOptions& options)
      : options_(options),
        beliefs_(initial_beliefs(crowd, predictions != nullptr,
                                 options.prior_evidence != nullptr ? &options.prior_evidence->confusion : nullptr)),
        share_(crowd.images.size(), beliefs_.sources(), *options.ranks) {
    if (options.priors != nullptr) {
      const WrongShares share = beliefs_.priors.wrong_share;
      beliefs_.priors = *options.priors;
      if (beliefs_.priors.wrong_share.classes() != share.classes()) beliefs_.priors.wrong_share = share;
      beliefs_.priors.ease.resize(beliefs_.classes, 1.0);
    }
    problem_ = make_problem(crowd, predictions, beliefs_, share_.first(), share_.images());
    state_.resize(problem_.images());
    if (options.prior_evidence != nullptr) {
      prior_ = empty_evidence(beliefs_);
      add_prior(*options.prior_evidence);
      prior_cells_ = cells_of(prior_.confusion);
      has_prior_ = true;
      align_prior();
    }
    look_at_all_ranks();
    for (std::size_t k = 0; has_prior_ && k < beliefs_.sources(); ++k) {
      if (prior_.source[k].boxes > 0) beliefs_.source[k].active = true;
    }
    for (const SourceBelief& s : beliefs_.source) active_sources_ += s.active ? 1 : 0;
    if (options.priors != nullptr || options.prior_evidence != nullptr) {
      // Start from what is known already.
      const AbsenceAwareEvidence start = has_prior_ ? prior_ : empty_evidence(beliefs_);
      set_source_posteriors(start, beliefs_);
      for (SourceBelief& s : beliefs_.source) {
        s.right_strength = beliefs_.priors.right_strength;
        s.wrong_strength = beliefs_.priors.wrong_strength;
      }
      set_confusion_posteriors(cells_of(start.confusion), beliefs_, options_.threads);
    }
  }

  AbsenceAwareResult run() {
    AbsenceAwareResult result;
    choose_start();
    if (all_items_ >= kManyBoxes) fit_sample();
    double before = 0;
    bool look_everywhere = false;  // for moves of boxes: without that no fit has ended
    for (int round = 1; round <= std::max(1, options_.max_rounds); ++round) {
      const bool weighed = round == kIndependentRounds + 1 && weigh_dependence(result.dependence);
      const double bound = one_round(round == 1, before, options_.tolerance);
      const double change = round == 1 ? 1.0 : (bound - before) / scale_of(bound);
      result.bound.push_back(bound);
      result.rounds = round;
      before = bound;
      require_same_everywhere(bound);
      if (options_.progress) options_.progress(round, bound, change);
      const bool ends = round > kIndependentRounds && !weighed && change < options_.tolerance;
      result.converged = ends && look_everywhere;
      if (result.converged) break;
      look_everywhere = ends;
      for (std::size_t i = 0; ends && i < state_.size(); ++i) look_again(state_[i]);
    }
    if (result.dependence.pairs.empty()) {
      result.dependence.one_voice = find_shared_errors(problem_, state_, beliefs_, share_.ranks()).suspicious();
    }
    collect(result);
    return result;
  }

 private:
  static constexpr int kIndependentRounds = 2;  ///< before it is asked who errs alike
  static constexpr int kCycles = 4;      ///< updates of sources and boxes between two looks at the partition, at most
  static constexpr int kNoiseSteps = 6;  ///< of the noise shape in a round, at most
  /// Cycles end when the bound rises by less than this times what ends the fit.
  static constexpr double kSlightGain = 1;
  /// There are none when the round has raised it by less than this times that.
  static constexpr double kWorthCycles = 5;
  static constexpr int kRoundsWithoutScaling = 3;  ///< after one in which no common scale was better

  static constexpr double kTrialBoxes = 5'000;
  /// Per class. The starts seldom end in quite the same place; a class that nearly all take for another gains far more.
  static constexpr double kLeastTrialGain = 2;
  static constexpr std::size_t kManyBoxes = 50'000, kSampleStride = 8;
  static constexpr int kSampleRounds = 12;
  static constexpr double kSampleTolerance = 1e-5;

  /// What must be known of the images of all ranks: how many boxes there are, of each column and at all, how many were
  /// skipped, and who has looked.
  void look_at_all_ranks() {
    std::vector<double> sums{static_cast<double>(problem_.items.size()), static_cast<double>(problem_.skipped),
                             static_cast<double>(problem_.prediction.size())};
    std::vector<char> looked(beliefs_.sources(), 0);
    for (const std::int32_t k : problem_.seen_by) looked[static_cast<std::size_t>(k)] = 1;
    sums.insert(sums.end(), looked.begin(), looked.end());
    for (std::size_t c = 0; c + 1 < problem_.column_item_begin.size(); ++c) {
      sums.push_back(static_cast<double>(problem_.column_item_begin[c + 1] - problem_.column_item_begin[c]));
    }
    share_.ranks().all_reduce_doubles(sums);
    all_items_ = sums[0];
    problem_.skipped = static_cast<std::size_t>(sums[1]);
    problem_.all_predictions = sums[2];
    const auto rest = sums.begin() + 3;
    for (std::size_t k = 0; k < looked.size(); ++k)
      beliefs_.source[k].active = rest[static_cast<std::ptrdiff_t>(k)] > 0;
    problem_.column_boxes.assign(rest + static_cast<std::ptrdiff_t>(looked.size()), sums.end());
  }

  /// Ranks whose processors round differently would soon do different things and wait for each other.
  void require_same_everywhere(double bound) const {
    if (share_.ranks().is_alone()) return;
    const auto all = share_.ranks().gather(std::string(reinterpret_cast<const char*>(&bound), sizeof(bound)));
    if (std::all_of(all.begin(), all.end(), [&](const std::string& one) { return one == all.front(); })) return;
    throw std::runtime_error(
        "the ranks have computed different bounds from the same sums: run them on machines with the same kind of "
        "processor and the same C library");
  }

  /// What a rise of the bound is measured against.
  [[nodiscard]] double scale_of(double bound) const {
    const double few = std::min(active_sources_, kFewSources);
    return std::max(kSmallBound, std::abs(bound)) + kBoundPerSource * few +
           kBoundPerFurtherSource * (active_sources_ - few) +
           (sampling_ ? 0.0 : kBoundPerFurtherBox * std::max(0.0, all_items_ - static_cast<double>(kManyBoxes)));
  }

  /// Partition, then sources and boxes in turns, then the shape of the noise. before: the bound before it, of no
  /// meaning in the first round. The bound after it.
  double one_round(bool first, double before, double tolerance) {
    image_pass(first ? ImagePass::first : ImagePass::partition);
    if (first && !has_prior_ && beliefs_.classes > kFewClasses) {
      reachable_ = std::make_unique<ConfusionEntries>(reachable());
    }
    if (first && from_votes_ && !started_) start_from_votes();
    observe(AbsenceAwareUpdate::partition);
    update_sources(true);
    double bound = pass_over_boxes();
    const double slight = kSlightGain * tolerance * scale_of(bound);
    const bool hardly_rose = !first && bound - before < kWorthCycles * slight;
    for (int cycle = hardly_rose ? 0 : is_huge(beliefs_.log_confusion) ? 1 : kCycles; cycle > 0; --cycle) {
      update_sources(false);
      const double last = bound;
      bound = pass_over_boxes();
      if (bound - last < slight) break;
    }
    for (int step = 0; step < kNoiseSteps; ++step) {
      if (!update_noise_shape()) break;
      const double last = bound;
      bound = pass_over_boxes();
      if (bound - last < slight) break;
    }
    return bound;
  }

  /// Two starts, tried for the rounds before it is asked who errs alike, on images with some 5,000 boxes: from the
  /// first beliefs, and from shares of labels (vote_shares.h), which is taken where it has a clearly higher bound.
  void choose_start() {
    if (beliefs_.classes < 2 || is_huge(beliefs_.log_confusion)) return;
    const AbsenceAwareBeliefs first_beliefs = beliefs_;
    const AbsenceAwareEvidence prior = prior_;
    const auto stride = static_cast<std::size_t>(all_items_ / kTrialBoxes) + 1;
    std::array<double, 2> bound{};
    sampling_ = true;
    for (const bool votes : {false, true}) {
      from_votes_ = votes;
      for (std::size_t i = 0; i < state_.size(); ++i) state_[i].asleep = (share_.first() + i) % stride != 0;
      for (int round = 1; round <= kIndependentRounds; ++round) {
        bound[votes ? 1 : 0] = one_round(round == 1, bound[votes ? 1 : 0], kSampleTolerance);
      }
      for (ImageState& image : state_) image = ImageState{};
      beliefs_ = first_beliefs;
      prior_ = prior;
      reachable_.reset();
      label_cells_ = {};
      started_ = false;
      power_step_.fill(kFirstPowerStep);
      tail_step_ = kFirstTailStep;
      rounds_without_scaling_ = 0;
    }
    sampling_ = false;
    from_votes_ = bound[1] - bound[0] > kLeastTrialGain * static_cast<double>(beliefs_.classes);
  }

  /// Beliefs about people from shares of labels, before anybody's label counts more than another's.
  void start_from_votes() {
    started_ = true;
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (!state_[i].asleep) set_vote_shares(problem_.image(i), beliefs_.classes, state_[i]);
    }
    const bool observed = std::exchange(sampling_, true);  // no step of the fit: the bound means nothing before it
    update_sources(true);
    sampling_ = observed;
    image_pass(ImagePass::boxes);
  }

  /// A large crowd: learns from every eighth image alone, so that the others are met with beliefs that hardly change
  /// any more. It is a start for the fit, nothing else: no bound of it is reported.
  void fit_sample() {
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i].asleep = (share_.first() + i) % kSampleStride != 0;
    sampling_ = true;
    double before = 0;
    for (int round = 1; round <= std::min(kSampleRounds, std::max(1, options_.max_rounds)); ++round) {
      const double bound = one_round(round == 1, before, kSampleTolerance);
      if (round > 1 && bound - before < kSampleTolerance * scale_of(bound)) break;
      before = bound;
    }
    for (ImageState& image : state_) image.asleep = false;
    sampling_ = false;
    if (reachable_ == nullptr) return;
    // What the other images will ask for.
    const ConfusionCells cells = count_all_labels(nullptr);
    reachable_.reset();
    set_confusion_posteriors(cells, beliefs_, options_.threads);
  }

  [[nodiscard]] ConfusionEntries reachable() const {
    return joined_entries(reachable_entries(problem_, state_, beliefs_.log_confusion), share_.ranks());
  }

  [[nodiscard]] ConfusionCells count_all_labels(const ConfusionCells* before) const {
    return count_labels(problem_, state_, beliefs_.log_confusion, before, options_.threads, reachable_.get(),
                        share_.ranks());
  }

  /// Updates all boxes; the bound after it.
  double pass_over_boxes() {
    image_pass(ImagePass::boxes);
    observe(AbsenceAwareUpdate::boxes);
    const auto images =
        sum_over_images<1>([&](std::size_t i, std::array<double, 1>& sum) { sum[0] += state_[i].bound; });
    double bound = global_bound(beliefs_);
    if (has_prior_) bound += expected_log_likelihood(prior_, beliefs_);
    return bound + images[0];
  }

  /// Takes over evidence with other columns, and perhaps without a detector.
  void add_prior(const AbsenceAwareEvidence& e) {
    const std::size_t J = beliefs_.classes;
    if (e.source.size() < beliefs_.annotators || e.source.size() > beliefs_.annotators + 1 ||
        e.class_count.size() != J || e.confusion.num_classes != J) {
      throw std::invalid_argument("prior evidence does not fit the crowd: annotators or classes differ");
    }
    for (std::size_t k = 0; k < std::min(e.source.size(), prior_.source.size()); ++k) {
      prior_.source[k] = e.source[k];
      for (std::size_t c = e.confusion.begin[k]; c < e.confusion.begin[k + 1]; ++c) {
        const double* from = e.confusion.value.data() + c * J;
        std::copy(from, from + J, prior_.confusion.value.data() + prior_.confusion.find(k, e.confusion.label[c]) * J);
      }
    }
    prior_.class_count = e.class_count;
    prior_.real_level = e.real_level;
    prior_.spurious_level = e.spurious_level;
  }

  /// Looks for sources that err alike and sets what every look counts; whether any were found.
  bool weigh_dependence(Dependence& found) {
    found = find_dependence(problem_, state_, beliefs_, share_.ranks());
    if (found.pairs.empty()) return false;
    std::vector<std::vector<std::pair<std::int32_t, double>>> partners(beliefs_.sources());
    for (const Dependence::Pair& p : found.pairs) {
      partners[static_cast<std::size_t>(p.first)].emplace_back(p.second, p.share);
      partners[static_cast<std::size_t>(p.second)].emplace_back(p.first, p.share);
    }
    beliefs_.dependent_begin.assign(1, 0);
    for (const auto& list : partners) {
      for (const auto& [other, share] : list) {
        beliefs_.dependent_on.push_back(other);
        beliefs_.dependent_share.push_back(share);
      }
      beliefs_.dependent_begin.push_back(beliefs_.dependent_on.size());
    }
    weigh_looks(beliefs_, problem_);
    for (ImageState& image : state_) image.quiet = 0;
    image_pass(ImagePass::boxes);
    observe(AbsenceAwareUpdate::dependence);
    return true;
  }

  void image_pass(ImagePass pass) {
    parallel_chunks(problem_.images(), kImagesPerChunk, options_.threads,
                    [&](std::size_t begin, std::size_t end, std::size_t) {
                      for (std::size_t i = begin; i < end; ++i) {
                        if (state_[i].asleep) continue;
                        const bool met = pass == ImagePass::first && !state_[i].candidates.empty();  // in the sample
                        run_image_pass(beliefs_, problem_.image(i), met ? ImagePass::partition : pass, state_[i]);
                        if (pass != ImagePass::boxes && is_huge(beliefs_.log_confusion)) forget_neighbours(state_[i]);
                      }
                    });
  }

  /// Sums over the images of all ranks of body(i, sums), in chunk order.
  template <std::size_t N, class Body>
  std::array<double, N> sum_over_images(const Body& body) const {
    const std::size_t chunks = (problem_.images() + kImagesPerChunk - 1) / kImagesPerChunk;
    std::vector<double> partial(chunks * N);
    parallel_chunks(problem_.images(), kImagesPerChunk, options_.threads,
                    [&](std::size_t begin, std::size_t end, std::size_t chunk) {
                      std::array<double, N> sums{};
                      for (std::size_t i = begin; i < end; ++i) body(i, sums);
                      std::copy(sums.begin(), sums.end(), partial.begin() + static_cast<std::ptrdiff_t>(chunk * N));
                    });
    partial = share_.join_chunks(std::move(partial), N);
    std::array<double, N> total{};
    for (std::size_t n = 0; n < partial.size(); ++n) total[n % N] += partial[n];
    return total;
  }

  [[nodiscard]] AbsenceAwareEvidence no_sums() const {
    AbsenceAwareEvidence out;
    out.source.resize(beliefs_.sources());
    out.class_count.assign(beliefs_.classes, 0.0);
    return out;
  }

  /// Evidence of the images of all ranks but the labels', in blocks of images that are added in order: the same bits
  /// for any number of threads and ranks.
  AbsenceAwareEvidence gather(Counted what) const {
    std::vector<AbsenceAwareEvidence> part(share_.blocks());
    const auto sum_block = [&](std::size_t begin, std::size_t end, std::size_t block) {
      part[block] = no_sums();
      for (std::size_t i = begin; i < end; ++i) {
        if (state_[i].asleep) continue;
        add_image_sums(beliefs_, problem_.image(i), state_[i], what, part[block]);
      }
    };
    parallel_chunks(problem_.images(), share_.images_per_block(), options_.threads, sum_block);
    AbsenceAwareEvidence evidence = no_sums();
    if (share_.ranks().is_alone()) {
      for (AbsenceAwareEvidence& p : part) {
        evidence.merge(p);
        p = {};
      }
    } else {
      merge_of_all_ranks(part, evidence);
    }
    for (SourceEvidence& s : evidence.source) {  // differences of sums: rounding
      s.missed = std::max(0.0, s.missed);
      s.missed_doubt = std::max(0.0, s.missed_doubt);
    }
    return evidence;
  }

  /// The same, with the blocks of the other ranks in between. Takes `part` apart.
  void merge_of_all_ranks(std::vector<AbsenceAwareEvidence>& part, AbsenceAwareEvidence& evidence) const {
    const std::size_t each = numbers_of(evidence);
    std::vector<double> numbers(part.size() * each);
    for (std::size_t p = 0; p < part.size(); ++p) {
      put_numbers(part[p], numbers.data() + p * each);
      part[p] = {};
    }
    numbers = share_.join_blocks(std::move(numbers), each);
    AbsenceAwareEvidence block = no_sums();
    for (std::size_t at = 0; at < numbers.size(); at += each) {
      take_numbers(numbers.data() + at, block);
      evidence.merge(block);
    }
  }

  /// Posteriors of the sources, with their priors refitted; then the shift.
  void update_sources(bool first_of_round) {
    AbsenceAwareEvidence evidence = gather(Counted::for_posteriors);
    if (has_prior_) {
      for (std::size_t k = 0; k < beliefs_.sources(); ++k) evidence.source[k].merge(prior_.source[k]);
      for (std::size_t j = 0; j < beliefs_.classes; ++j) evidence.class_count[j] += prior_.class_count[j];
      for (std::size_t i = 0; i < kScoreLevels; ++i) {
        evidence.real_level[i] += prior_.real_level[i];
        evidence.spurious_level[i] += prior_.spurious_level[i];
      }
    }
    fit_source_priors(evidence.source, beliefs_, options_.threads);
    set_source_posteriors(evidence, beliefs_);
    set_object_rates(evidence, beliefs_.priors);
    label_cells_ = {};
    label_cells_ = count_all_labels(has_prior_ ? &prior_cells_ : nullptr);
    if (first_of_round || !is_large(label_cells_, beliefs_.classes)) {
      const bool scale = first_of_round && rounds_without_scaling_-- <= 0;
      const bool scaled = fit_confusion_priors(beliefs_.log_confusion, label_cells_, beliefs_, scale, options_.threads);
      if (scale && !scaled) rounds_without_scaling_ = kRoundsWithoutScaling;
    }
    set_confusion_posteriors(label_cells_, beliefs_, options_.threads, reachable_.get());
    if (reachable_ == nullptr || !options_.keep_log_confusion) label_cells_ = {};
    observe(AbsenceAwareUpdate::sources);
    shift();
    observe(AbsenceAwareUpdate::shift);
  }

  /// Moves all boxes one way and all biases the other, by the amount that the biases' prior likes best. The images
  /// cannot tell (only box + bias matters to them), so single updates would need thousands of rounds to get there.
  void shift() {
    align_prior();
    std::array<double, 4> step{};
    for (std::size_t e = 0; e < 4; ++e) {
      double weighted = 0, precision = 0;
      for (const SourceBelief& s : beliefs_.source) {
        if (!s.active) continue;
        weighted += s.precision[e] * s.bias[e];
        precision += s.precision[e];
      }
      if (precision > 0) step[e] = weighted / precision;
    }
    for (SourceBelief& s : beliefs_.source) {
      if (!s.active) continue;
      for (std::size_t e = 0; e < 4; ++e) s.bias[e] -= step[e];
    }
    for (ImageState& image : state_) {
      for (Candidate& c : image.candidates) {
        for (std::size_t e = 0; e < 4; ++e) c.mean[e] += c.scale[e & 1U] * step[e];
      }
    }
    if (has_prior_) move_prior(step);
  }

  /// Where "no bias" was in the earlier project is arbitrary, as it is here. Its common offset goes where its
  /// likelihood is highest, so that it says who differs from whom and nothing of all together.
  void align_prior() {
    if (!has_prior_) return;
    std::array<double, 4> offset{};
    for (std::size_t e = 0; e < 4; ++e) {
      double weighted = 0, precision = 0;
      for (std::size_t k = 0; k < beliefs_.sources(); ++k) {
        const SourceBelief& b = beliefs_.source[k];
        const SourceEvidence& s = prior_.source[k];
        weighted += b.precision[e] * (s.error[e] - b.bias[e] * s.weight[e]);
        precision += b.precision[e] * s.weight[e];
      }
      if (precision > 0) offset[e] = weighted / precision;
    }
    move_prior(offset);
  }

  /// Takes `step` off every edge error of the earlier evidence.
  void move_prior(const std::array<double, 4>& step) {
    for (SourceEvidence& s : prior_.source) {
      for (std::size_t e = 0; e < 4; ++e) {
        s.square[e] += step[e] * (step[e] * s.weight[e] - 2 * s.error[e]);
        s.error[e] -= step[e] * s.weight[e];
      }
    }
  }

  using Trials = std::array<double, 3>;

  /// Calls body(candidate, members, what its edges count) for every candidate of an image that says something of them.
  template <class Body>
  void for_edges(std::size_t i, const Body& body) const {
    if (state_[i].blank) return;
    const ImageItems image = problem_.image(i);
    for (const Candidate& c : state_[i].candidates) {
      if (c.members.size() == 1) continue;  // its place says nothing of errors
      body(c, Members{c.members, image.items.data(), beliefs_.source.data()}, c.existence * c.voices);
    }
  }

  /// Size powers and tail: each is tried one step down and one step up and goes where the bound is highest; a step
  /// that leads nowhere is halved, another doubled. Existence must be fresh (an image pass since the sources changed):
  /// the bound is compared at fixed existence, so that it then holds for the best existence too. Whether anything
  /// changed.
  bool update_noise_shape() {
    AbsenceAwarePriors& p = beliefs_.priors;
    const Trials offset{0, -1, 1};
    const double half_tail = (p.tail + 1) / 2;
    std::array<Trials, 2> power{};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      for (std::size_t t = 0; t < 3; ++t) {
        power[axis][t] =
            std::min(kMostPower, std::max(kLeastPower, p.size_power[axis] + offset[t] * power_step_[axis]));
      }
    }
    // The terms of the bound that differ between the trials, those of x first.
    const auto value = sum_over_images<6>([&](std::size_t i, std::array<double, 6>& sums) {
      for_edges(i, [&](const Candidate& c, const Members& members, double counts) {
        const std::array<double, 2> log_size{std::log(c.size[0] / p.reference_size[0]),
                                             std::log(c.size[1] / p.reference_size[1])};
        const auto edges = 2 * static_cast<double>(c.members.size());
        for (std::size_t t = 0; t < 3; ++t) {
          std::array<double, 2> log_growth{}, scale{};
          for (std::size_t axis = 0; axis < 2; ++axis) {
            log_growth[axis] = power[axis][t] * log_size[axis];
            scale[axis] = p.reference_size[axis] * std::exp(log_growth[axis]);
          }
          const std::array<double, 2> tails = log_tails(members, p.tail, c, scale);
          for (std::size_t axis = 0; axis < 2; ++axis) {
            sums[3 * axis + t] -= counts * (edges * log_growth[axis] + half_tail * tails[axis]);
          }
        }
      });
    });
    bool moved = false;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::size_t best = best_of({value[3 * axis], value[3 * axis + 1], value[3 * axis + 2]});
      p.size_power[axis] = power[axis][best];
      moved = moved || best != 0;
      power_step_[axis] = next_step(power_step_[axis], best != 0, 0.01, kFirstPowerStep);
    }
    if (moved) set_scales();
    moved = update_tail() || moved;
    observe(AbsenceAwareUpdate::noise_shape);
    return moved;
  }

  void set_scales() {
    const AbsenceAwarePriors& p = beliefs_.priors;
    parallel_chunks(problem_.images(), kImagesPerChunk, options_.threads,
                    [&](std::size_t begin, std::size_t end, std::size_t) {
                      for (std::size_t i = begin; i < end; ++i) {
                        for (Candidate& c : state_[i].candidates) set_noise_scale(p, c);
                      }
                    });
  }

  bool update_tail() {
    AbsenceAwarePriors& p = beliefs_.priors;
    const Trials offset{0, -1, 1};
    Trials tails{}, constant{};
    for (std::size_t t = 0; t < 3; ++t) {
      tails[t] = std::min(kMostTail, std::max(kLeastTail, p.tail * std::exp(offset[t] * tail_step_)));
      constant[t] = TailTerms(tails[t]).constant;
    }
    const auto value = sum_over_images<3>([&](std::size_t i, Trials& sums) {
      for_edges(i, [&](const Candidate& c, const Members& members, double counts) {
        for (std::size_t t = 0; t < 3; ++t) {
          const std::array<double, 2> logs = log_tails(members, tails[t], c, c.scale);
          sums[t] += counts * (4 * static_cast<double>(c.members.size()) * constant[t] -
                               (tails[t] + 1) / 2 * (logs[0] + logs[1]));
        }
      });
    });
    const std::size_t best = best_of(value);
    p.tail = tails[best];
    tail_step_ = next_step(tail_step_, best != 0, 0.02, kFirstTailStep);
    return best != 0;
  }

  /// Half the step where it led nowhere, else twice.
  static double next_step(double step, bool moved, double least, double most) {
    return moved ? std::min(most, step * 2) : std::max(least, step / 2);
  }

  static std::size_t best_of(const std::array<double, 3>& value) {
    return static_cast<std::size_t>(std::max_element(value.begin(), value.end()) - value.begin());
  }

  double lower_bound() const {
    const auto sums = sum_over_images<1>([&](std::size_t i, std::array<double, 1>& sum) {
      sum[0] += image_bound(beliefs_, problem_.image(i), state_[i]);
    });
    double bound = sums[0] + global_bound(beliefs_);
    if (has_prior_) bound += expected_log_likelihood(prior_, beliefs_);
    return bound;
  }

  void observe(AbsenceAwareUpdate update) const {
    if (options_.observer && !sampling_) options_.observer(update, lower_bound());
  }

  /// Room for exactly what will be appended: growing by doubling would need twice the memory.
  void reserve_targets(Targets& targets) const {
    std::size_t count = 0;
    for (const ImageState& image : state_) {
      for (const Candidate& c : image.candidates) {
        count += c.existence * image.occupied < options_.min_existence ? 0 : 1;
      }
    }
    targets.box.reserve(count);
    targets.class_probs.reserve(count * beliefs_.classes);
    targets.weight.reserve(count);
    targets.score.reserve(count);
    targets.existence.reserve(count);
    targets.located.reserve(count);
    targets.box_std.reserve(count);
    targets.begin.reserve(state_.size() + 1);
  }

  /// The last word on classes. counts: of this crowd's labels.
  void leave_out_own_labels_everywhere(ConfusionCells counts) {
    if (has_prior_) add_cells(prior_cells_, counts);
    keep_label_counts(std::move(counts), beliefs_);
    beliefs_.labels.single_share = single_box_shares(problem_, state_, beliefs_, share_, options_.threads);
    parallel_chunks(problem_.images(), kImagesPerChunk, options_.threads,
                    [&](std::size_t begin, std::size_t end, std::size_t) {
                      for (std::size_t i = begin; i < end; ++i) {
                        leave_out_own_labels(beliefs_, problem_.image(i), state_[i]);
                      }
                    });
    if (!options_.keep_log_confusion) beliefs_.labels = {};
  }

  void collect(AbsenceAwareResult& result) {
    result.skipped_boxes = problem_.skipped;
    for (ImageState& image : state_) forget_neighbours(image);
    result.targets.num_classes = static_cast<int>(beliefs_.classes);
    if (reachable_ != nullptr && options_.keep_log_confusion) {
      set_confusion_posteriors(label_cells_, beliefs_, options_.threads);  // what no image of this crowd asked for
    }
    label_cells_ = {};
    const ConfusionCells cells = count_all_labels(nullptr);
    reachable_.reset();
    result.evidence = in_box_sizes(gather(Counted::all));
    leave_out_own_labels_everywhere(cells);
    if (options_.keep_log_confusion) {
      result.evidence.confusion = beliefs_.log_confusion;
    } else {
      result.evidence.confusion = std::move(beliefs_.log_confusion);
      beliefs_.log_confusion = {};
    }
    set_counts(cells, result.evidence.confusion);
    reserve_targets(result.targets);
    for (std::size_t i = 0; i < problem_.images(); ++i) {
      append_targets(problem_.image(i), state_[i], options_.min_existence, problem_.size_known[i] != 0, result.targets);
      state_[i] = ImageState{};
      if (i % kImagesPerTrim == kImagesPerTrim - 1) return_free_memory();  // the targets are growing meanwhile
    }
    join_targets(share_.ranks(), options_.whole, result.targets);
    if (result.targets.begin.empty()) result.targets.begin.push_back(0);
    result.beliefs = std::move(beliefs_);
  }

  AbsenceAwareOptions options_;
  AbsenceAwareBeliefs beliefs_;
  ImageShare share_;
  Problem problem_;             ///< this rank's images
  AbsenceAwareEvidence prior_;  ///< with the columns of beliefs_
  ConfusionCells prior_cells_;  ///< its counts
  bool has_prior_ = false;
  ConfusionCells label_cells_;                   ///< of the last update of the sources, where collect() needs them
  std::unique_ptr<ConfusionEntries> reachable_;  ///< confusion entries that are looked at; null: all
  std::vector<ImageState> state_;
  bool sampling_ = false;  ///< nothing is observed
  bool from_votes_ = false, started_ = false;
  double active_sources_ = 0, all_items_ = 0;
  std::array<double, 2> power_step_{kFirstPowerStep, kFirstPowerStep};
  double tail_step_ = kFirstTailStep;
  int rounds_without_scaling_ = 0;
};

}  // namespace
}  // namespace absence_aware

AbsenceAwareResult run_absence_aware(const CrowdData& crowd, const Predictions* predictions,
                                     const AbsenceAwareOptions& options) {
  return absence_aware::Fit(crowd, predictions, options).run();
}

}  // namespace bdc
