#pragma once

#include <string>
#include <vector>

namespace bdc::host {

/// What decides whether a plugin's C++ may be called, read from text "api=2.0;torch=1.13.0;...".
struct Fingerprint {
  int api_major = -1, api_minor = -1;
  std::string torch, cxx11_abi, stdlib, compiler, device;

  /// Unknown keys are ignored, so that later versions may add some. Throws std::invalid_argument when one is missing.
  [[nodiscard]] static Fingerprint parse(const std::string& text);
  /// This program's own.
  [[nodiscard]] static const Fingerprint& of_host();
  /// Whether it can run plugins at all; a program that was built without the training engine cannot.
  [[nodiscard]] bool has_torch() const { return torch != "none"; }
  /// "API 2.0, LibTorch 1.13.0 (cpu), gcc-12, libstdc++, C++11 ABI 1"
  [[nodiscard]] std::string text() const;
};

/// Why `plugin` cannot be used by `host`, with one line of advice; empty when it can.
[[nodiscard]] std::string mismatch(const Fingerprint& host, const Fingerprint& plugin);

}  // namespace bdc::host
