// Gradients of several ranks become their sums, and leave while backward still runs.

#include "engine/shared_gradients.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <string>
#include <utility>
#include <vector>

#include "bdc/base/now_seconds.h"
#include "host/engine/thread_ranks.h"

namespace bdc::host {
namespace {

using Events = std::vector<std::string>;

/// A rank that only writes down what it is asked.
class WatchedRank : public Communicator {
 public:
  explicit WatchedRank(Events& events) : events_(events) {}
  [[nodiscard]] int size() const override { return 2; }
  std::unique_ptr<PendingSum> begin_sum(Bucket bucket) override {
    const std::string name = std::to_string(begun_++);
    events_.push_back("begin " + name);
    sizes.push_back(bucket.count);
    return std::make_unique<Pending>(events_, name);
  }
  std::vector<std::size_t> sizes;

 private:
  class Pending : public PendingSum {
   public:
    Pending(Events& events, std::string name) : events_(events), name_(std::move(name)) {}
    void wait() override { events_.push_back("wait " + name_); }
    [[nodiscard]] double done_at() const override { return now_seconds(); }

   private:
    Events& events_;
    std::string name_;
  };
  Events& events_;
  int begun_ = 0;
};

/// Its input; writes down when backward comes by.
struct Mark : torch::autograd::Function<Mark> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, const torch::Tensor& x, Events* events,
                               const std::string& name) {
    ctx->saved_data["events"] = reinterpret_cast<std::int64_t>(events);
    ctx->saved_data["name"] = name;
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& gradients) {
    reinterpret_cast<Events*>(ctx->saved_data["events"].toInt())
        ->push_back("backward below " + ctx->saved_data["name"].toStringRef());
    return {gradients[0], {}, {}};
  }
};

/// Layers of which each fills a bucket.
std::vector<torch::Tensor> three_layers() {
  std::vector<torch::Tensor> out;
  torch::manual_seed(1);
  for (int n = 0; n < 3; ++n) out.push_back((torch::rand({1024, 1024}) / 1024).set_requires_grad(true));
  return out;
}

torch::Tensor loss_of(const std::vector<torch::Tensor>& layers, Events& events) {
  torch::Tensor x = torch::ones({1, 1024}).mm(layers[0]);
  x = Mark::apply(x, &events, std::string("layer 1")).mm(layers[1]);
  x = Mark::apply(x, &events, std::string("layer 2")).mm(layers[2]);
  return x.sum();
}

TEST(SharedGradients, ABucketLeavesWhileBackwardStillRuns) {
  Events events;
  WatchedRank rank(events);
  const auto layers = three_layers();
  SharedGradients shared(rank, layers);
  shared.begin();
  loss_of(layers, events).backward();
  events.emplace_back("backward is over");
  shared.finish();
  EXPECT_EQ(events, (Events{"begin 0", "backward below layer 2", "begin 1", "backward below layer 1", "begin 2",
                            "backward is over", "wait 0", "wait 1", "wait 2"}));
}

TEST(SharedGradients, NothingLeavesInABackwardThatIsNotTheLast) {
  Events events;
  WatchedRank rank(events);
  const auto layers = three_layers();
  SharedGradients shared(rank, layers);
  loss_of(layers, events).backward();
  EXPECT_EQ(events, (Events{"backward below layer 2", "backward below layer 1"}));
  shared.begin();
  loss_of(layers, events).backward();
  EXPECT_EQ(events[2], "begin 0");
}

TEST(SharedGradients, TheOrderOfBucketsIsTheSameWhicheverGradientsARankHas) {
  Events events;
  WatchedRank rank(events);
  const auto layers = three_layers();
  SharedGradients shared(rank, layers);
  shared.begin();
  layers[0].sum().backward();  // only what goes last
  EXPECT_TRUE(events.empty()) << "the buckets before it have not left";
  shared.finish();
  EXPECT_EQ(events, (Events{"begin 0", "begin 1", "begin 2", "wait 0", "wait 1", "wait 2"}));
  EXPECT_EQ(rank.sizes, (std::vector<std::size_t>{1048577, 1048577, 1048577})) << "a layer and whether it is there";
  EXPECT_FALSE(layers[1].grad().defined());
}

TEST(SharedGradients, AreTheSumsOfAllRanksStepAfterStep) {
  constexpr int kRanks = 3;
  std::vector<std::vector<torch::Tensor>> parameters(kRanks);
  for (auto& mine : parameters) {
    for (int n = 0; n < 4; ++n) mine.push_back(torch::zeros({2, 3}).set_requires_grad(n != 3));
  }
  ThreadRanks(kRanks).run([&](Communicator& rank) {
    const auto& mine = parameters[static_cast<std::size_t>(rank.rank())];
    SharedGradients shared(rank, mine);
    for (int step = 1; step <= 2; ++step) {
      for (const auto& p : mine) p.mutable_grad() = torch::Tensor();
      shared.begin();
      if (rank.rank() != 1) {  // that one has no images; of the second parameter only the last rank has a gradient
        torch::Tensor loss = mine[0].sum() * (rank.rank() + step);
        if (rank.rank() == 2) loss = loss + mine[1].sum() * 10;
        loss.backward();
      }
      torch::Tensor more = torch::full({2}, 1.0F + static_cast<float>(rank.rank()));
      shared.finish({more});
      EXPECT_TRUE(torch::equal(mine[0].grad(), torch::full({2, 3}, 2.0F * static_cast<float>(step) + 2)));
      EXPECT_TRUE(torch::equal(mine[1].grad(), torch::full({2, 3}, 10.0F)));
      EXPECT_FALSE(mine[2].grad().defined()) << "no rank has it";
      EXPECT_FALSE(mine[3].grad().defined());
      EXPECT_TRUE(torch::equal(more, torch::full({2}, 6.0F)));
    }
    const auto seconds = shared.take_seconds();
    EXPECT_GT(seconds.under_way, 0);
    EXPECT_GE(seconds.waited, 0);
    EXPECT_EQ(shared.take_seconds().under_way, 0);
  });
}

TEST(SharedGradients, AParameterThatIsListedTwiceIsSummedOnce) {
  Events events;
  WatchedRank rank(events);
  const torch::Tensor p = torch::zeros({3}).set_requires_grad(true);
  SharedGradients shared(rank, {p, p});
  shared.begin();
  (p.sum() + p.sum()).backward();
  EXPECT_EQ(events, Events{"begin 0"});
  EXPECT_EQ(rank.sizes, std::vector<std::size_t>{4});
}

/// A rank whose sums cannot begin.
class BrokenRank : public Communicator {
 public:
  [[nodiscard]] int size() const override { return 2; }
  std::unique_ptr<PendingSum> begin_sum(Bucket) override { throw std::runtime_error("rank 1 is gone"); }
};

TEST(SharedGradients, WhatGoesWrongDuringBackwardIsThrownAfterIt) {
  Events events;
  BrokenRank rank;
  const auto layers = three_layers();
  SharedGradients shared(rank, layers);
  shared.begin();
  EXPECT_NO_THROW(loss_of(layers, events).backward());
  EXPECT_THROW(shared.finish(), std::runtime_error);
}

TEST(SharedGradients, MayEndBeforeItsParameters) {
  Events events;
  WatchedRank rank(events);
  const auto layers = three_layers();
  const torch::Tensor loss = loss_of(layers, events);
  {
    SharedGradients shared(rank, layers);
    shared.begin();
  }
  loss.backward();
  EXPECT_EQ(events, (Events{"backward below layer 2", "backward below layer 1"}));
}

}  // namespace
}  // namespace bdc::host
