#include "parts/sampler.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>

#include "parts/matcher.h"

namespace parts {
namespace {

Tensor first_of(const Tensor& rows, std::int64_t count, const std::function<Tensor(std::int64_t)>& permutation) {
  const Tensor order = permutation(rows.size(0));
  if (count >= rows.size(0)) return rows;
  const Tensor chosen = rows.index_select(0, order.slice(0, 0, count).to(rows.device()));
  return std::get<0>(chosen.sort());
}

}  // namespace

Tensor BalancedSampler::random_permutation(std::int64_t n) {
  return torch::randperm(n, torch::kInt64);
}

BalancedSampler::Drawn BalancedSampler::draw(const Tensor& matches) const {
  const Tensor positive = (matches >= 0).nonzero().squeeze(1),
               negative = (matches == Matcher::kBackground).nonzero().squeeze(1);
  const auto wanted = static_cast<std::int64_t>(static_cast<double>(per_image) * positive_share);
  const std::int64_t positives = std::min(positive.size(0), wanted),
                     negatives = std::min(negative.size(0), per_image - positives);
  const Tensor p = first_of(positive, positives, permutation);
  return {p, first_of(negative, negatives, permutation)};
}

}  // namespace parts
