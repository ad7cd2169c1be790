// A training hook in a plugin: before every loss it moves a share of each class vector to the other classes.

#include <bdc/plugin/export.h>
#include <bdc/plugin/hook.h>

namespace {

class LabelSmoothing : public bdc::plugin::TrainingHook {
 public:
  static bdc::plugin::HookInfo describe() {
    bdc::plugin::HookInfo info;
    info.description = "Example: spreads a share of every class vector evenly over all classes";
    info.priority = 80;  // late: after hooks that make the targets
    info.options = {bdc::plugin::number_option("share", 0.1, "share to spread", 0.0, 1.0)};
    return info;
  }

  explicit LabelSmoothing(const bdc::plugin::HookConfig& config)
      : share_(config.options.get_number("share")), classes_(static_cast<double>(config.num_classes)) {}

  void before_loss(bdc::plugin::RunContext&, bdc::plugin::LossContext& step) override {
    step.targets->class_probs = step.targets->class_probs * (1 - share_) + share_ / classes_;
  }

 private:
  double share_;
  double classes_;
};

}  // namespace

BDC_EXPORT_HOOK(LabelSmoothing);
