#include "engine/shared_gradients.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/utils.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "bdc/base/now_seconds.h"

namespace bdc::host {
namespace {

constexpr std::int64_t kNumbers = 1 << 20;  // 4 MB

/// One message: tensors one after the other, then a number for each that says how many ranks have it.
class Message {
 public:
  /// of_gradients: the tensors are parameters, and their gradients are meant.
  explicit Message(bool of_gradients) : of_gradients_(of_gradients) {}

  void add(const torch::Tensor& tensor) {
    tensors_.push_back(tensor);
    numbers_ += tensor.numel();
  }
  [[nodiscard]] bool is_full() const { return numbers_ >= kNumbers; }
  [[nodiscard]] bool is_empty() const { return tensors_.empty(); }
  [[nodiscard]] std::size_t size() const { return tensors_.size(); }

  void send(Communicator& ranks) {
    torch::NoGradGuard no_grad;
    const torch::Device device = ranks.takes_device_memory() ? tensors_[0].device() : torch::Device(torch::kCPU);
    const auto count = static_cast<std::int64_t>(tensors_.size());
    flat_ = torch::zeros({numbers_ + count}, torch::dtype(torch::kFloat32).device(device));
    std::vector<float> has;
    std::int64_t at = 0;
    for (const torch::Tensor& t : tensors_) {
      const torch::Tensor source = of_gradients_ ? t.grad() : t;
      has.push_back(source.defined() ? 1.0F : 0.0F);
      if (source.defined()) flat_.slice(0, at, at + t.numel()).copy_(source.reshape({-1}));
      at += t.numel();
    }
    flat_.slice(0, at).copy_(torch::from_blob(has.data(), {count}));
    begun_at_ = now_seconds();
    sum_ = ranks.begin_sum({flat_.data_ptr<float>(), static_cast<std::size_t>(flat_.numel()), !device.is_cpu(),
                            std::make_shared<torch::Tensor>(flat_)});
  }

  /// Waits, and puts the sums into the place of what was sent.
  void receive() {
    torch::NoGradGuard no_grad;
    sum_->wait();
    const torch::Tensor has = flat_.slice(0, numbers_).cpu();
    std::int64_t at = 0;
    for (std::size_t n = 0; n < tensors_.size(); ++n) {
      torch::Tensor& t = tensors_[n];
      const torch::Tensor sum = flat_.slice(0, at, at + t.numel()).view(t.sizes());
      at += t.numel();
      if (has[static_cast<std::int64_t>(n)].item<float>() == 0) continue;  // no rank has it
      if (of_gradients_ && !t.grad().defined()) t.mutable_grad() = torch::zeros_like(t);
      (of_gradients_ ? t.mutable_grad() : t).copy_(sum);
    }
    flat_ = torch::Tensor();
  }
  [[nodiscard]] std::pair<double, double> under_way() const { return {begun_at_, sum_->done_at()}; }

 private:
  bool of_gradients_;
  std::vector<torch::Tensor> tensors_;
  std::int64_t numbers_ = 0;
  torch::Tensor flat_;
  std::unique_ptr<PendingSum> sum_;
  double begun_at_ = 0;
};

/// Tensors in messages of their own order.
std::vector<Message> in_messages(const std::vector<torch::Tensor>& tensors, bool of_gradients) {
  std::vector<Message> out;
  for (const torch::Tensor& t : tensors) {
    if (out.empty() || out.back().is_full()) out.emplace_back(of_gradients);
    out.back().add(t);
  }
  return out;
}

/// Length of what intervals in the order of their beginning cover.
double covered(const std::vector<std::pair<double, double>>& intervals) {
  double out = 0, until = 0;
  for (const auto& [from, to] : intervals) {
    out += std::max(0.0, to - std::max(from, until));
    until = std::max(until, to);
  }
  return out;
}

}  // namespace

struct SharedGradients::State {
  explicit State(Communicator& communicator) : ranks(communicator) {}

  Communicator& ranks;
  std::vector<Message> messages;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators;  ///< they call only while somebody keeps them
  Seconds seconds;

  std::mutex mutex;  ///< of all below: backward on devices calls from threads of its own
  bool is_begun = false;
  std::vector<std::size_t> missing;  ///< gradients of each message that are not there yet
  std::size_t sent = 0;              ///< messages that are under way
  std::exception_ptr error;

  /// Sends the messages that are complete, or all.
  void send(bool all) {
    while (sent < messages.size() && (all || missing[sent] == 0)) messages[sent++].send(ranks);
  }
  /// A gradient of that message is there.
  void has_come(std::size_t message) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!is_begun || error || missing[message] == 0) return;
    --missing[message];
    try {
      send(false);
    } catch (const std::exception&) {  // not backward's error; finish() throws it
      error = std::current_exception();
    }
  }
};

namespace {

/// What autograd calls when a parameter's gradient has been added up.
class Arrival : public torch::autograd::FunctionPostHook {
 public:
  Arrival(std::weak_ptr<SharedGradients::State> state, std::size_t message)
      : state_(std::move(state)), message_(message) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list& /*inputs*/) override {
    if (const auto state = state_.lock()) state->has_come(message_);
    return outputs;
  }

 private:
  std::weak_ptr<SharedGradients::State> state_;
  std::size_t message_;
};

}  // namespace

SharedGradients::SharedGradients(Communicator& ranks, const std::vector<torch::Tensor>& parameters)
    : state_(std::make_shared<State>(ranks)) {
  std::vector<torch::Tensor> learnt;
  std::unordered_set<const void*> seen;  // modules that stand in several places list theirs in each
  for (const torch::Tensor& p : parameters) {
    if (p.requires_grad() && seen.insert(p.unsafeGetTensorImpl()).second) learnt.push_back(p);
  }
  std::reverse(learnt.begin(), learnt.end());  // backward comes to the last ones first
  state_->messages = in_messages(learnt, true);
  std::size_t n = 0;
  for (std::size_t m = 0; m < state_->messages.size(); ++m) {
    for (std::size_t i = 0; i < state_->messages[m].size(); ++i, ++n) {
      const auto accumulator = torch::autograd::impl::grad_accumulator(learnt[n]);
      accumulator->add_post_hook(std::make_unique<Arrival>(state_, m));
      state_->accumulators.push_back(accumulator);
    }
  }
}

SharedGradients::~SharedGradients() = default;

void SharedGradients::begin() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->is_begun) return;
  state_->is_begun = true;
  state_->sent = 0;
  state_->missing.clear();
  for (const Message& message : state_->messages) state_->missing.push_back(message.size());
}

void SharedGradients::finish(const std::vector<torch::Tensor>& more) {
  begin();
  State& state = *state_;
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.is_begun = false;
  if (state.error) std::rethrow_exception(state.error);
  state.send(true);
  std::vector<Message> others = in_messages(more, false);
  for (Message& message : others) message.send(state.ranks);
  const double begun = now_seconds();
  std::vector<std::pair<double, double>> intervals;
  for (std::vector<Message>* messages : {&state.messages, &others}) {
    for (Message& message : *messages) {
      message.receive();
      intervals.push_back(message.under_way());
    }
  }
  state.seconds.waited += now_seconds() - begun;
  state.seconds.under_way += covered(intervals);
}

SharedGradients::Seconds SharedGradients::take_seconds() {
  return std::exchange(state_->seconds, {});
}

}  // namespace bdc::host
