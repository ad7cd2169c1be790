#include "engine/shared_batch.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

constexpr std::size_t kCounts = 16;  ///< most that a loss may ask for at once

}  // namespace

std::vector<std::vector<std::int64_t>> shares_of(std::vector<std::vector<std::int64_t>> lists, int rank, int size) {
  if (size == 1) return lists;
  for (auto& list : lists) {
    const auto count = static_cast<std::ptrdiff_t>(list.size()), more = count % size;
    const std::ptrdiff_t first = count / size * rank + std::min<std::ptrdiff_t>(rank, more);
    const std::ptrdiff_t last = first + count / size + (rank < more ? 1 : 0);
    list = std::vector<std::int64_t>(list.begin() + first, list.begin() + last);
  }
  return lists;
}

SharedBatch::SharedBatch(Communicator& ranks, const std::string& plugin, std::int64_t norm_channels)
    : ranks_(ranks), plugin_(plugin), width_(kCounts) {
  if (ranks.is_alone() || norm_channels == 0) return;
  width_ = std::max(width_, static_cast<std::size_t>(2 * norm_channels + 1));
  norm_.emplace([this](Span<double> numbers, SyncBatchNorm::Pass pass) {
    exchange_in_place(numbers, pass == SyncBatchNorm::Pass::forward         ? Asks::norm
                               : pass == SyncBatchNorm::Pass::forward_learn ? Asks::norm_to_learn
                                                                            : Asks::norm_backward);
  });
}

SharedBatch::Turn SharedBatch::begin(bool stop, std::int64_t images) {
  if (ranks_.is_alone()) return {false, images};
  std::vector<double> sums{stop ? 1.0 : 0.0, static_cast<double>(images)};
  ranks_.all_reduce_doubles(sums);
  return {sums[0] > 0, static_cast<std::int64_t>(sums[1])};
}

SharedBatch::Answer SharedBatch::exchange(Span<const double> numbers, std::optional<Asks> asks) {
  // The numbers; how many ranks ask for what; of those that ask, how many there are, how many numbers each has, and the
  // square of it, which tell whether they ask for equally many.
  constexpr std::size_t kKinds = static_cast<std::size_t>(Asks::end) + 1;
  std::vector<double> sums(width_ + kKinds + 3);
  std::copy(numbers.begin(), numbers.end(), sums.begin());
  double* const kinds = sums.data() + width_;
  double* const lengths = kinds + kKinds;
  if (asks) {
    const auto length = static_cast<double>(numbers.size());
    kinds[static_cast<std::size_t>(*asks)] = 1;
    lengths[0] = 1;
    lengths[1] = length;
    lengths[2] = length * length;
  }
  ranks_.all_reduce_doubles(sums);
  const auto asked = static_cast<std::size_t>(std::max_element(kinds, kinds + kKinds) - kinds);
  const bool is_one_kind = kinds[asked] == lengths[0],
             is_one_length = lengths[0] * lengths[2] == lengths[1] * lengths[1];
  if (!is_one_kind || !is_one_length) {
    const bool of_norms = kinds[1] + kinds[2] + kinds[3] > 0;
    throw UserError(ExitCode::plugin_threw,
                    "plugin '" + plugin_ +
                        (of_norms ? "': some ranks came to other batch norms than others, which "
                                    "train.sync_batchnorm cannot bring together"
                                  : "': the loss asked for more counts on some ranks than on others (SharedCounts, "
                                    "bdc/plugin/ranks.h)"));
  }
  return {static_cast<Asks>(asked), std::move(sums)};
}

void SharedBatch::exchange_in_place(Span<double> numbers, Asks asks) {
  if (numbers.size() > width_) {
    throw std::length_error(asks == Asks::counts
                                ? "a loss may ask for " + std::to_string(kCounts) + " counts at once"
                                : "a batch norm without running statistics, or with more channels than "
                                  "any that has them, cannot share its statistics");
  }
  const std::vector<double> sums = exchange({numbers.data(), numbers.size()}, asks).sums;
  std::copy_n(sums.begin(), numbers.size(), numbers.begin());
}

plugin::SharedCounts SharedBatch::counts() {
  if (ranks_.is_alone()) return {};
  return {ranks_.size(), [this](Span<double> counts) { exchange_in_place(counts, Asks::counts); }};
}

plugin::LossTerms SharedBatch::mean_of(const std::vector<double>& sums) const {
  const auto mean = [&](std::size_t n) { return torch::tensor(sums[n] / ranks_.size(), torch::kFloat64); };
  plugin::LossTerms out{mean(0), {}};
  for (std::size_t n = 0; n < parts_.size(); ++n) out.parts.emplace_back(parts_[n], mean(n + 1));
  return out;
}

plugin::LossTerms SharedBatch::finish(const plugin::LossTerms& own) {
  if (ranks_.is_alone()) return own;
  std::vector<double> numbers{own.total.item<double>()};
  parts_.clear();
  for (const auto& [name, value] : own.parts) {
    if (numbers.size() == kCounts) break;
    parts_.push_back(name);
    numbers.push_back(value.item<double>());
  }
  numbers.resize(kCounts);  // a loss need not have the same parts in all ranks
  return mean_of(exchange({numbers.data(), numbers.size()}, Asks::end).sums);
}

plugin::LossTerms SharedBatch::sit_out() {
  norms_to_learn_ = 0;
  while (true) {
    const Answer answer = exchange({}, {});
    if (answer.asks == Asks::norm_to_learn) ++norms_to_learn_;
    if (answer.asks == Asks::end) return mean_of(answer.sums);
  }
}

void SharedBatch::sit_out_backward() {
  for (; norms_to_learn_ > 0; --norms_to_learn_) (void)exchange({}, {});
}

}  // namespace bdc::host
