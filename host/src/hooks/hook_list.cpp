#include "hooks/hook_list.h"

#include <algorithm>
#include <exception>

#include "registry/loaded_plugin.h"
#include "text/nearest.h"

namespace bdc::host {
namespace {

void guarded(const HookInstance& instance, const char* stage, const std::function<void(plugin::TrainingHook&)>& call) {
  call_plugin("hook '" + instance.name + "'", stage, [&] { call(*instance.hook); });
}

}  // namespace

HookList::HookList(std::vector<HookInstance> hooks) : hooks_(std::move(hooks)) {
  for (std::size_t i = 0; i < hooks_.size(); ++i) {
    if (hooks_[i].priority < 0 || hooks_[i].priority > 100) {
      throw UserError(ExitCode::config, "hook '" + hooks_[i].name + "': priority " +
                                            std::to_string(hooks_[i].priority) + " is not in 0..100");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (hooks_[i].name == hooks_[j].name) {
        throw UserError(ExitCode::config, "two hooks are named '" + hooks_[i].name + "'");
      }
    }
  }
  std::stable_sort(hooks_.begin(), hooks_.end(),
                   [](const HookInstance& a, const HookInstance& b) { return a.priority < b.priority; });
}

bool HookList::needs_predictions() const {
  return std::any_of(hooks_.begin(), hooks_.end(), [](const HookInstance& h) { return h.needs_predictions; });
}

std::vector<std::string> HookList::names() const {
  std::vector<std::string> out;
  for (const auto& h : hooks_) out.push_back(h.name);
  return out;
}

void HookList::before_fit(plugin::RunContext& run) {
  for (auto& h : hooks_) guarded(h, "before_fit", [&](auto& hook) { hook.before_fit(run); });
}

void HookList::before_epoch(plugin::RunContext& run) {
  for (auto& h : hooks_) guarded(h, "before_epoch", [&](auto& hook) { hook.before_epoch(run); });
}

void HookList::before_loss(plugin::RunContext& run, plugin::LossContext& step) {
  for (auto& h : hooks_) {
    guarded(h, "before_loss", [&](auto& hook) {
      hook.before_loss(run, step);
      step.targets->validate(step.images->pixels.size(0), run.num_classes);
    });
  }
}

void HookList::after_step(plugin::RunContext& run, const plugin::LossTerms& terms) {
  for (auto& h : hooks_) guarded(h, "after_step", [&](auto& hook) { hook.after_step(run, terms); });
}

void HookList::after_epoch(plugin::RunContext& run) {
  for (auto& h : hooks_) guarded(h, "after_epoch", [&](auto& hook) { hook.after_epoch(run); });
}

void HookList::after_fit(plugin::RunContext& run) {
  std::exception_ptr first;
  for (auto& h : hooks_) {
    try {
      guarded(h, "after_fit", [&](auto& hook) { hook.after_fit(run); });
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void HookList::on_exception(plugin::RunContext& run, const std::string& stage, const std::string& message) noexcept {
  for (auto& h : hooks_) {
    try {
      h.hook->on_exception(run, stage, message);
    } catch (...) {  // the run is failing already; its first error is the one to report
    }
  }
}

std::map<std::string, std::string> HookList::save_states() const {
  std::map<std::string, std::string> out;
  for (const auto& h : hooks_) {
    guarded(h, "save_state", [&](auto& hook) { out[h.name] = hook.save_state(); });
  }
  return out;
}

void HookList::load_states(const std::map<std::string, std::string>& states) {
  std::vector<std::string> saved, now = names();
  for (const auto& [name, bytes] : states) saved.push_back(name);
  std::sort(now.begin(), now.end());
  if (saved != now) {
    throw UserError(ExitCode::config, "the checkpoint holds the state of hooks [" + join(saved) +
                                          "], but this run has [" + join(now) +
                                          "]\n  advice: resume with the hooks the run was started with");
  }
  for (auto& h : hooks_) {
    guarded(h, "load_state", [&](auto& hook) { hook.load_state(states.at(h.name)); });
  }
}

}  // namespace bdc::host
