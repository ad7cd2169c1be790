#include "engine/hooks/hook_list.h"

#include <algorithm>
#include <exception>

#include "bdc/base/text.h"
#include "plugins/known_hook.h"
#include "plugins/loaded_plugin.h"

namespace bdc::host {
namespace {

void guarded(const HookInstance& instance, const char* stage, const std::function<void(plugin::TrainingHook&)>& call) {
  call_plugin("hook '" + instance.info.name + "'", stage, [&] { call(*instance.hook); });
}

}  // namespace

HookList::HookList(std::vector<HookInstance> hooks) : hooks_(std::move(hooks)) {
  std::vector<plugin::HookInfo> infos;
  for (std::size_t i = 0; i < hooks_.size(); ++i) {
    const plugin::HookInfo& info = hooks_[i].info;
    if (info.priority < 0 || info.priority > 100) {
      throw UserError(ExitCode::config,
                      "hook '" + info.name + "': priority " + std::to_string(info.priority) + " is not in 0..100");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (info.name == hooks_[j].info.name) {
        throw UserError(ExitCode::config, "two hooks are named '" + info.name + "'");
      }
    }
    infos.push_back(info);
  }
  check_one_replaces_targets(infos);
  std::stable_sort(hooks_.begin(), hooks_.end(),
                   [](const HookInstance& a, const HookInstance& b) { return a.info.priority < b.info.priority; });
}

bool HookList::any(bool plugin::HookInfo::*flag) const {
  return std::any_of(hooks_.begin(), hooks_.end(), [&](const HookInstance& h) { return h.info.*flag; });
}

std::vector<std::string> HookList::names() const {
  std::vector<std::string> out;
  for (const auto& h : hooks_) out.push_back(h.info.name);
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
    guarded(h, "save_state", [&](auto& hook) { out[h.info.name] = hook.save_state(); });
  }
  return out;
}

void HookList::load_states(plugin::RunContext& run, const std::map<std::string, std::string>& states) {
  std::vector<std::string> saved, now = names();
  for (const auto& [name, bytes] : states) saved.push_back(name);
  std::sort(now.begin(), now.end());
  if (saved != now) {
    throw UserError(ExitCode::config, "the checkpoint holds the state of hooks [" + join(saved) +
                                          "], but this run has [" + join(now) +
                                          "]\n  advice: resume with the hooks the run was started with");
  }
  for (auto& h : hooks_) {
    guarded(h, "load_state", [&](auto& hook) { hook.load_state(run, states.at(h.info.name)); });
  }
}

}  // namespace bdc::host
