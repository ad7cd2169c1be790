#include "engine/hooks/hook_list.h"

#include <gtest/gtest.h>

#include "bdc/base/user_error.h"
#include "host/engine/recording_hook.h"

namespace bdc::host {
namespace {

using Calls = std::vector<std::string>;

HookInstance recorder(const std::string& name, int priority, Calls& calls, const std::string& throw_at = "") {
  return named_hook(name, std::make_unique<RecordingHook>(name, calls, throw_at), priority);
}

HookList make(std::vector<HookInstance*> parts) {
  std::vector<HookInstance> hooks;
  for (auto* p : parts) hooks.push_back(std::move(*p));
  return HookList(std::move(hooks));
}

TEST(HookList, RunsInPriorityOrderAndEqualOnesInTheOrderGiven) {
  Calls calls;
  auto late = recorder("late", 90, calls), a = recorder("a", 50, calls), b = recorder("b", 50, calls),
       early = recorder("early", 0, calls);
  HookList hooks = make({&late, &a, &b, &early});
  plugin::RunContext run;
  hooks.before_fit(run);
  EXPECT_EQ(calls, (Calls{"early.before_fit", "a.before_fit", "b.before_fit", "late.before_fit"}));
  EXPECT_EQ(hooks.names(), (Calls{"early", "a", "b", "late"}));
}

TEST(HookList, AHookThatThrowsEndsTheStageAndIsNamed) {
  Calls calls;
  auto a = recorder("a", 1, calls, "before_epoch"), b = recorder("b", 2, calls);
  HookList hooks = make({&a, &b});
  plugin::RunContext run;
  try {
    hooks.before_epoch(run);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::plugin_threw);
    EXPECT_STREQ(e.what(), "hook 'a' threw in before_epoch: thrown on purpose");
  }
  EXPECT_EQ(calls, (Calls{"a.before_epoch"}));
}

TEST(HookList, AfterFitAndOnExceptionReachEveryHookEvenWhenAHookThrows) {
  Calls calls;
  auto a = recorder("a", 1, calls, "after_fit"), b = recorder("b", 2, calls, "on_exception(loss)");
  auto c = recorder("c", 3, calls);
  HookList hooks = make({&a, &b, &c});
  plugin::RunContext run;
  hooks.on_exception(run, "loss", "bad");
  EXPECT_THROW(hooks.after_fit(run), UserError);
  EXPECT_EQ(calls, (Calls{"a.on_exception(loss)", "b.on_exception(loss)", "c.on_exception(loss)", "a.after_fit",
                          "b.after_fit", "c.after_fit"}));
}

TEST(HookList, NamesAreUniqueAndPrioritiesInRange) {
  Calls calls;
  auto a = recorder("a", 1, calls), twin = recorder("a", 2, calls);
  EXPECT_THROW(make({&a, &twin}), UserError);
  auto high = recorder("high", 101, calls);
  EXPECT_THROW(make({&high}), UserError);
  auto low = recorder("low", -1, calls);
  EXPECT_THROW(make({&low}), UserError);
}

TEST(HookList, StatesComeBackToTheHookTheyCameFrom) {
  Calls calls;
  auto a = recorder("a", 1, calls), b = recorder("b", 2, calls);
  static_cast<RecordingHook&>(*a.hook).steps = 5;
  static_cast<RecordingHook&>(*b.hook).steps = 7;
  HookList hooks = make({&a, &b});
  const auto states = hooks.save_states();
  EXPECT_EQ(states, (std::map<std::string, std::string>{{"a", "5"}, {"b", "7"}}));
  plugin::RunContext run;
  hooks.load_states(run, states);
  EXPECT_EQ(calls, (Calls{"a.load_state(5)", "b.load_state(7)"}));
}

TEST(HookList, StatesOfOtherHooksAreRefusedSoThatNothingIsLostSilently) {
  Calls calls;
  auto a = recorder("a", 1, calls);
  HookList hooks = make({&a});
  plugin::RunContext run;
  EXPECT_THROW(hooks.load_states(run, {}), UserError);
  EXPECT_THROW(hooks.load_states(run, {{"a", "1"}, {"b", "2"}}), UserError);
  EXPECT_THROW(hooks.load_states(run, {{"b", "2"}}), UserError);
}

TEST(HookList, NeedsWhatAnyOfItsHooksNeeds) {
  Calls calls;
  auto a = recorder("a", 1, calls);
  const HookList none = make({&a});
  EXPECT_FALSE(none.needs_predictions() || none.needs_crowd() || none.replaces_targets());
  auto b = recorder("b", 1, calls), c = recorder("c", 1, calls);
  b.info.needs_predictions = true;
  c.info.needs_crowd = c.info.replaces_targets = true;
  const HookList both = make({&b, &c});
  EXPECT_TRUE(both.needs_predictions() && both.needs_crowd() && both.replaces_targets());
}

TEST(HookList, OnlyOneHookMayReplaceTheTargets) {
  Calls calls;
  auto a = recorder("a", 1, calls), b = recorder("b", 2, calls);
  a.info.replaces_targets = b.info.replaces_targets = true;
  try {
    make({&a, &b});
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::config);
    EXPECT_STREQ(e.what(), "hooks 'a' and 'b' both make the targets; a run can have only one of them");
  }
}

}  // namespace
}  // namespace bdc::host
