#pragma once

/// Include in exactly one source file of a plugin and use one of the macros at namespace scope:
///   BDC_EXPORT_DETECTOR(MyDetector)              a detector
///   BDC_EXPORT_HOOK(MyHook)                      a training hook
///   BDC_EXPORT_DETECTOR_AND_HOOK(MyDet, MyHook)  both
/// MyDetector has `static DetectorInfo describe()` and a constructor from const DetectorConfig&; MyHook likewise with
/// HookInfo and HookConfig. The plugin's name comes from bdc_add_detector_plugin (or bdc_add_hook_plugin) in CMake.

#include "bdc/plugin/abi.h"

#ifndef BDC_PLUGIN_NAME
#error "BDC_PLUGIN_NAME is not defined: build the plugin with bdc_add_detector_plugin(name SOURCES ...)."
#endif

namespace bdc::plugin::detail {

template <class D>
struct DetectorEntry {
  static void info(DetectorInfo* out) {
    *out = D::describe();
    out->name = BDC_PLUGIN_NAME;
  }
  static Detector* create(const DetectorConfig& config) { return new D(config); }
};

template <class H>
struct HookEntry {
  static void info(HookInfo* out) {
    *out = H::describe();
    out->name = BDC_PLUGIN_NAME;
  }
  static TrainingHook* create(const HookConfig& config) { return new H(config); }
};

}  // namespace bdc::plugin::detail

#define BDC_DETAIL_DESCRIPTOR(...)                                      \
  BDC_DETAIL_EXPORT const BdcPluginDescriptor bdc_plugin_descriptor = { \
      BDC_PLUGIN_MAGIC, sizeof(BdcPluginDescriptor), BDC_ABI_FINGERPRINT, BDC_PLUGIN_NAME, __VA_ARGS__}

#define BDC_EXPORT_DETECTOR(D)                                                                                        \
  BDC_DETAIL_NOTE(BDC_PLUGIN_NAME, "detector", BDC_ABI_FINGERPRINT);                                                  \
  BDC_DETAIL_DESCRIPTOR(&bdc::plugin::detail::DetectorEntry<D>::info, &bdc::plugin::detail::DetectorEntry<D>::create, \
                        nullptr, nullptr)

#define BDC_EXPORT_HOOK(H)                                                          \
  BDC_DETAIL_NOTE(BDC_PLUGIN_NAME, "hook", BDC_ABI_FINGERPRINT);                    \
  BDC_DETAIL_DESCRIPTOR(nullptr, nullptr, &bdc::plugin::detail::HookEntry<H>::info, \
                        &bdc::plugin::detail::HookEntry<H>::create)

#define BDC_EXPORT_DETECTOR_AND_HOOK(D, H)                                                                            \
  BDC_DETAIL_NOTE(BDC_PLUGIN_NAME, "detector+hook", BDC_ABI_FINGERPRINT);                                             \
  BDC_DETAIL_DESCRIPTOR(&bdc::plugin::detail::DetectorEntry<D>::info, &bdc::plugin::detail::DetectorEntry<D>::create, \
                        &bdc::plugin::detail::HookEntry<H>::info, &bdc::plugin::detail::HookEntry<H>::create)
