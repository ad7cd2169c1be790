#include "engine/shared_batch.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <stdexcept>

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

constexpr std::size_t kNumbers = 16, kAsking = kNumbers, kDone = kNumbers + 1;

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

SharedBatch::Turn SharedBatch::begin(bool stop, std::int64_t images) {
  if (ranks_.is_alone()) return {false, images};
  std::vector<double> sums{stop ? 1.0 : 0.0, static_cast<double>(images)};
  ranks_.all_reduce_doubles(sums);
  return {sums[0] > 0, static_cast<std::int64_t>(sums[1])};
}

std::vector<double> SharedBatch::exchange(const std::vector<double>& numbers, bool asks, bool is_done) {
  std::vector<double> sums(kNumbers + 2);
  std::copy_n(numbers.begin(), std::min(numbers.size(), kNumbers), sums.begin());
  sums[kAsking] = asks ? 1 : 0;
  sums[kDone] = is_done ? 1 : 0;
  ranks_.all_reduce_doubles(sums);
  if (sums[kAsking] > 0 && sums[kDone] > 0) {
    throw UserError(
        ExitCode::plugin_threw,
        "plugin '" + plugin_ +
            "': the loss asked for more counts on some ranks than on others (SharedCounts, bdc/plugin/ranks.h)");
  }
  return sums;
}

plugin::SharedCounts SharedBatch::counts() {
  if (ranks_.is_alone()) return {};
  return {ranks_.size(), [this](Span<double> counts) {
            if (counts.size() > kNumbers) {
              throw std::length_error("a loss may ask for " + std::to_string(kNumbers) + " counts at once");
            }
            const std::vector<double> sums = exchange({counts.begin(), counts.end()}, true, false);
            std::copy_n(sums.begin(), counts.size(), counts.begin());
          }};
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
    if (numbers.size() == kNumbers) break;
    parts_.push_back(name);
    numbers.push_back(value.item<double>());
  }
  return mean_of(exchange(numbers, false, true));
}

plugin::LossTerms SharedBatch::sit_out() {
  while (true) {
    const std::vector<double> sums = exchange({}, false, false);
    if (sums[kDone] > 0) return mean_of(sums);
  }
}

}  // namespace bdc::host
