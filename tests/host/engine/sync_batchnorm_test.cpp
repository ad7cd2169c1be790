// Batch norm of several ranks is that of one process with the images of all. In double precision, so that what is left
// is not rounding.

#include "engine/sync_batchnorm.h"

#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <vector>

#include "host/engine/thread_ranks.h"

namespace bdc::host {
namespace {

using torch::Tensor;

/// Two norms with something between them, and what became of them in a forward and a backward.
struct Net {
  Tensor weight1, bias1, weight2, between, mean1, var1, mean2, var2;

  static Net make(std::int64_t channels) {
    torch::manual_seed(5);
    const auto options = torch::dtype(torch::kFloat64);
    const auto learnt = [](const Tensor& t) { return t.clone().set_requires_grad(true); };
    return {learnt(torch::rand({channels}, options) + 0.5),
            learnt(torch::rand({channels}, options)),
            learnt(torch::rand({channels}, options) - 0.5),
            learnt(torch::rand({channels, channels}, options)),
            torch::rand({channels}, options),
            torch::rand({channels}, options) + 0.5,
            torch::zeros({channels}, options),
            torch::ones({channels}, options)};
  }
  [[nodiscard]] std::vector<Tensor> learnt() const { return {weight1, bias1, weight2, between}; }
  [[nodiscard]] std::vector<Tensor> running() const { return {mean1, var1, mean2, var2}; }

  Tensor operator()(const Tensor& x, bool training = true) const {
    const Tensor y = torch::relu(torch::batch_norm(x, weight1, bias1, mean1, var1, training, 0.1, 1e-5, false));
    const Tensor z = torch::einsum("nc...,cd->nd...", {y, between});
    return torch::batch_norm(z, weight2, {}, mean2, var2, training, 0.3, 1e-3, false).sin();
  }
};

Tensor input(std::vector<std::int64_t> shape) {
  torch::manual_seed(6);
  return torch::rand(shape, torch::kFloat64) * 3 + 40;  // far from 0, where sums of squares lose digits
}

/// Sums the numbers, whatever for.
SyncBatchNorm over(Communicator& rank) {
  return SyncBatchNorm([&rank](Span<double> numbers, SyncBatchNorm::Pass) { rank.all_reduce_doubles(numbers); });
}

class SyncNorm : public testing::TestWithParam<std::vector<std::int64_t>> {};

TEST_P(SyncNorm, OfUnequalPartsIsThatOfTheWhole) {
  const Tensor x = input(GetParam());
  const Net whole = Net::make(x.size(1));
  Tensor all = x.clone().set_requires_grad(true);
  whole(all).pow(2).sum().backward();

  const std::vector<std::int64_t> cuts{0, 1, 4, x.size(0)};
  std::vector<Net> nets;
  std::vector<Tensor> parts;
  for (std::size_t r = 0; r < 3; ++r) {
    nets.push_back(Net::make(x.size(1)));
    parts.push_back(x.slice(0, cuts[r], cuts[r + 1]).clone().set_requires_grad(true));
  }
  ThreadRanks(3).run([&](Communicator& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    SyncBatchNorm norm = over(rank);
    Tensor loss;
    {
      const SyncBatchNorm::Scope scope(&norm);
      loss = nets[r](parts[r]).pow(2).sum();
    }
    norm.tied(loss).backward();
  });
  for (std::size_t p = 0; p < whole.learnt().size(); ++p) {
    Tensor sum = torch::zeros_like(whole.learnt()[p]);
    for (const Net& net : nets) sum += net.learnt()[p].grad();
    EXPECT_TRUE(torch::allclose(sum, whole.learnt()[p].grad(), 1e-9, 1e-9)) << "parameter " << p;
  }
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_TRUE(torch::allclose(parts[r].grad(), all.grad().slice(0, cuts[r], cuts[r + 1]), 1e-8, 1e-9))
        << "rank " << r;
    for (std::size_t b = 0; b < 4; ++b) {
      EXPECT_TRUE(torch::allclose(nets[r].running()[b], whole.running()[b], 1e-10)) << "running statistic " << b;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, SyncNorm,
                         testing::Values(std::vector<std::int64_t>{7, 3, 5, 4}, std::vector<std::int64_t>{7, 5},
                                         std::vector<std::int64_t>{7, 2, 6}));

TEST(SyncNorms, BackwardComesToEveryNormAlsoWhereALossDoesNotDependOnIt) {
  const Tensor x = input({4, 3, 2, 2});
  const Net whole = Net::make(3);
  whole(x).slice(0, 0, 2).sum().backward();
  std::vector<Net> nets{Net::make(3), Net::make(3)};
  ThreadRanks(2).run([&](Communicator& rank) {
    const auto r = static_cast<std::int64_t>(rank.rank());
    SyncBatchNorm norm = over(rank);
    const SyncBatchNorm::Scope scope(&norm);
    const Tensor out = nets[static_cast<std::size_t>(r)](x.slice(0, 2 * r, 2 * r + 2));
    norm.tied(r == 0 ? out.sum() : torch::zeros({}, torch::kFloat64)).backward();
  });
  const Tensor sum = nets[0].between.grad() + nets[1].between.grad();
  EXPECT_TRUE(torch::allclose(sum, whole.between.grad(), 1e-9, 1e-9));
}

TEST(SyncNorms, OutsideItsScopeAndInEvaluationNothingChanges) {
  const Tensor x = input({5, 3, 2, 2});
  const Net a = Net::make(3), b = Net::make(3);
  const Tensor before = a(x);
  SyncBatchNorm norm([](Span<double>, SyncBatchNorm::Pass) { FAIL() << "nobody should ask"; });
  EXPECT_TRUE(torch::equal(before, b(x)));
  const SyncBatchNorm::Scope scope(&norm);
  const Net c = Net::make(3);
  torch::NoGradGuard no_grad;
  EXPECT_EQ(c(x, false).sizes(), x.sizes());
  const SyncBatchNorm::Scope off(nullptr);
  EXPECT_TRUE(torch::equal(before, Net::make(3)(x)));
}

TEST(SyncNorms, AsksForStatisticsForwardAndInTheOppositeOrderBackward) {
  std::vector<SyncBatchNorm::Pass> passes;
  std::vector<std::size_t> sizes;
  SyncBatchNorm norm([&](Span<double> numbers, SyncBatchNorm::Pass pass) {
    passes.push_back(pass);
    sizes.push_back(numbers.size());
  });
  const SyncBatchNorm::Scope scope(&norm);
  const auto options = torch::dtype(torch::kFloat64);
  const Tensor w = torch::ones({1, 2}, options).set_requires_grad(true);
  const Tensor x = torch::batch_norm(torch::rand({4, 1}, options).mm(w), {}, {}, {}, {}, true, 0.1, 1e-5, false);
  const Tensor y = torch::batch_norm(torch::cat({x, x}, 1), {}, {}, {}, {}, true, 0.1, 1e-5, false);
  norm.tied(y.pow(3).sum()).backward();
  using Pass = SyncBatchNorm::Pass;
  EXPECT_EQ(passes, (std::vector<Pass>{Pass::forward_learn, Pass::forward_learn, Pass::backward, Pass::backward}));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{5, 9, 8, 4}));
  passes.clear();
  torch::NoGradGuard no_grad;
  (void)torch::batch_norm(torch::rand({4, 1}, options), {}, {}, {}, {}, true, 0.1, 1e-5, false);
  EXPECT_EQ(passes, std::vector<Pass>{Pass::forward});
}

}  // namespace
}  // namespace bdc::host
