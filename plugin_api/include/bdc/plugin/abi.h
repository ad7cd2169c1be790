#pragma once

/// What the host must know about a shared library before it may run any C++ in it.
///
/// A plugin states its fingerprint twice: as an ELF note, which the host reads from the file before dlopen, and in the
/// plain C descriptor it exports. Accepted are: the same API major, an API minor not newer than the host's, the same
/// LibTorch version, C++11 ABI flag, C++ standard library, and cpu/cuda build. The compiler's version is shown but does
/// not decide: GCC and Clang share one C++ ABI on the same standard library.

#ifndef BDC_WITHOUT_TORCH
#include <torch/version.h>
#else  // a host that cannot load plugins, but can say which it sees
#define TORCH_VERSION "none"
#define BDC_TORCH_DEVICE "none"
#endif

#include <cstdint>

#include "bdc/plugin/info.h"

#define BDC_PLUGIN_API_MAJOR 2
#define BDC_PLUGIN_API_MINOR 0

#define BDC_DETAIL_STR2(x) #x
#define BDC_DETAIL_STR(x) BDC_DETAIL_STR2(x)

#if defined(__clang__)
#define BDC_DETAIL_COMPILER "clang-" BDC_DETAIL_STR(__clang_major__)
#elif defined(__GNUC__)
#define BDC_DETAIL_COMPILER "gcc-" BDC_DETAIL_STR(__GNUC__)
#else
#define BDC_DETAIL_COMPILER "unknown"
#endif

#if defined(_LIBCPP_VERSION)
#define BDC_DETAIL_STDLIB "libc++"
#define BDC_DETAIL_CXX11_ABI 1
#else
#define BDC_DETAIL_STDLIB "libstdc++"
#define BDC_DETAIL_CXX11_ABI _GLIBCXX_USE_CXX11_ABI
#endif

/// "cpu" or "cuda": which kind of LibTorch this was built with. Set by the CMake target bdc::plugin_api.
#ifndef BDC_TORCH_DEVICE
#error "Link the CMake target bdc::plugin_api (or use bdc_add_detector_plugin); it defines BDC_TORCH_DEVICE."
#endif

/// The fingerprint as text: key=value pairs separated by ';'.
#define BDC_DETAIL_FINGERPRINT(major, minor, torch)                                                   \
  "api=" BDC_DETAIL_STR(major) "." BDC_DETAIL_STR(minor) ";torch=" torch ";cxx11abi=" BDC_DETAIL_STR( \
      BDC_DETAIL_CXX11_ABI) ";stdlib=" BDC_DETAIL_STDLIB ";compiler=" BDC_DETAIL_COMPILER ";device=" BDC_TORCH_DEVICE

#define BDC_ABI_FINGERPRINT BDC_DETAIL_FINGERPRINT(BDC_PLUGIN_API_MAJOR, BDC_PLUGIN_API_MINOR, TORCH_VERSION)

namespace bdc::plugin {
class Detector;
class TrainingHook;
}  // namespace bdc::plugin

extern "C" {

/// The one symbol a plugin exports, as `bdc_plugin_descriptor`. The host reads the first two members, then the
/// fingerprint, and only then the rest.
struct BdcPluginDescriptor {
  std::uint32_t magic;        ///< BDC_PLUGIN_MAGIC
  std::uint32_t struct_size;  ///< sizeof(BdcPluginDescriptor) when the plugin was built
  const char* fingerprint;    ///< BDC_ABI_FINGERPRINT
  const char* name;           ///< lower case letters, digits, '_' and '-'
  /// Both null when the plugin has no detector. create_detector gives ownership to the caller.
  void (*detector_info)(bdc::plugin::DetectorInfo* out);
  bdc::plugin::Detector* (*create_detector)(const bdc::plugin::DetectorConfig& config);
  /// Both null when the plugin has no hook. create_hook gives ownership to the caller.
  void (*hook_info)(bdc::plugin::HookInfo* out);
  bdc::plugin::TrainingHook* (*create_hook)(const bdc::plugin::HookConfig& config);
};
}

#define BDC_PLUGIN_MAGIC 0x31434442u  // "BDC1"
#define BDC_PLUGIN_NOTE_TYPE 1u

#define BDC_DETAIL_EXPORT extern "C" __attribute__((visibility("default"), used))

/// The ELF note: owner "bdc", type 1, text `name=...;provides=...;` followed by the fingerprint.
#define BDC_DETAIL_NOTE(plugin_name, provides, fingerprint)                                                        \
  __attribute__((used, section(".note.bdc"), aligned(4))) static const struct {                                    \
    std::uint32_t owner_size, text_size, type;                                                                     \
    char owner[4];                                                                                                 \
    char text[(sizeof("name=" plugin_name ";provides=" provides ";" fingerprint) + 3) / 4 * 4];                    \
  } bdc_plugin_note = {4, sizeof("name=" plugin_name ";provides=" provides ";" fingerprint), BDC_PLUGIN_NOTE_TYPE, \
                       "bdc", "name=" plugin_name ";provides=" provides ";" fingerprint}
