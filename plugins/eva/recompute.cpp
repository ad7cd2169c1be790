#include "eva/recompute.h"

#include <ATen/Context.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <mutex>

namespace eva {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Compute = std::function<Tensor(const Tensor&)>;

Tensor random_state(const torch::Device& device) {
  auto generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void set_random_state(const torch::Device& device, const Tensor& state) {
  auto generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

/// Puts the generator back to where it was, also when something throws.
class BorrowedRandomState {
 public:
  BorrowedRandomState(const torch::Device& device, const Tensor& state) : device_(device), own_(random_state(device)) {
    set_random_state(device, state);
  }
  ~BorrowedRandomState() { set_random_state(device_, own_); }
  BorrowedRandomState(const BorrowedRandomState&) = delete;
  BorrowedRandomState& operator=(const BorrowedRandomState&) = delete;

 private:
  torch::Device device_;
  Tensor own_;
};

/// Carries the function to the backward pass.
struct Held : torch::CustomClassHolder {
  explicit Held(Compute what) : compute(std::move(what)) {}
  Compute compute;
};

struct Recompute : torch::autograd::Function<Recompute> {
  static Tensor forward(AutogradContext* context, const Tensor& x, at::TensorList parameters,
                        const c10::intrusive_ptr<Held>& held, bool random) {
    context->saved_data["held"] = c10::IValue::make_capsule(held);
    if (random) context->saved_data["random"] = random_state(x.device());
    variable_list saved{x};
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    context->save_for_backward(std::move(saved));
    return held->compute(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto held = c10::static_intrusive_pointer_cast<Held>(context->saved_data["held"].toCapsule());
    variable_list inputs = context->get_saved_variables();
    const bool wants_x = inputs[0].requires_grad();
    inputs[0] = inputs[0].detach().requires_grad_(wants_x);
    Tensor again;
    {
      const torch::AutoGradMode with_gradient(true);
      const auto state = context->saved_data.find("random");
      std::unique_ptr<BorrowedRandomState> borrowed;
      if (state != context->saved_data.end()) {
        borrowed = std::make_unique<BorrowedRandomState>(inputs[0].device(), state->second.toTensor());
      }
      again = held->compute(inputs[0]);
    }
    variable_list wanted;
    for (const auto& t : inputs) {
      if (t.requires_grad()) wanted.push_back(t);
    }
    variable_list found = torch::autograd::grad({again}, wanted, {gradients[0]}, /*retain_graph=*/false,
                                                /*create_graph=*/false, /*allow_unused=*/true);
    variable_list out;
    std::size_t next = 0;
    for (const auto& t : inputs) out.push_back(t.requires_grad() ? found[next++] : Tensor());
    out.emplace_back();  // held
    out.emplace_back();  // random
    return out;
  }
};

}  // namespace

Tensor recomputed(const Compute& compute, const Tensor& x, const std::vector<Tensor>& parameters, bool random) {
  if (!torch::GradMode::is_enabled()) return compute(x);
  return Recompute::apply(x, at::TensorList(parameters), c10::make_intrusive<Held>(compute), random);
}

}  // namespace eva
