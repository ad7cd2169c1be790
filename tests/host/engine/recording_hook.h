#pragma once

#include <bdc/plugin/hook.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/hooks/hook_list.h"

namespace bdc::host {

/// A hook with its name, for a HookList.
inline HookInstance named_hook(const std::string& name, std::unique_ptr<plugin::TrainingHook> hook, int priority = 50) {
  plugin::HookInfo info;
  info.name = name;
  info.priority = priority;
  return {std::move(info), std::move(hook)};
}

/// Writes every call of every stage into a shared list, logs some of them, throws where it is told to, and counts its
/// steps as state.
class RecordingHook : public plugin::TrainingHook {
 public:
  RecordingHook(std::string name, std::vector<std::string>& calls, std::string throw_at = "", int throw_at_count = 1)
      : name_(std::move(name)), calls_(calls), throw_at_(std::move(throw_at)), left_(throw_at_count) {}

  void before_fit(plugin::RunContext& run) override {
    call(run.resumed ? "before_fit(resumed)" : "before_fit");
    run.metrics[name_ + "/before_fit"] = 1;
  }
  void before_epoch(plugin::RunContext& run) override {
    call("before_epoch");
    run.metrics[name_ + "/before_epoch"] = static_cast<double>(run.epoch);
    if (on_before_epoch) on_before_epoch();
  }
  void before_loss(plugin::RunContext&, plugin::LossContext&) override { call("before_loss"); }
  void after_step(plugin::RunContext& run, const plugin::LossTerms&) override {
    ++steps;
    run.metrics[name_ + "/steps_of_epoch"] += 1;
    call("after_step");
    if (on_step) on_step(steps);
  }
  void after_epoch(plugin::RunContext&) override {
    call("after_epoch");
    if (on_after_epoch) on_after_epoch();
  }
  void after_fit(plugin::RunContext&) override { call("after_fit"); }
  void on_exception(plugin::RunContext&, const std::string& stage, const std::string&) override {
    call("on_exception(" + stage + ")");
  }

  std::string save_state() const override { return std::to_string(steps); }
  void load_state(plugin::RunContext&, const std::string& bytes) override {
    calls_.push_back(name_ + ".load_state(" + bytes + ")");
    steps = std::stoi(bytes);
  }

  int steps = 0;
  std::function<void(int)> on_step;
  std::function<void()> on_before_epoch, on_after_epoch;

 private:
  void call(const std::string& stage) {
    calls_.push_back(name_ + "." + stage);
    if (stage == throw_at_ && --left_ == 0) throw std::runtime_error("thrown on purpose");
  }
  std::string name_;
  std::vector<std::string>& calls_;
  std::string throw_at_;
  int left_;
};

}  // namespace bdc::host
