#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "bdc/plugin/info.h"
#include "plugins/catalog.h"

struct BdcPluginDescriptor;

namespace bdc::host {

/// A plugin's shared library in this process. It is never unloaded: code, vtables and tensors of it may live anywhere.
class LoadedPlugin {
 public:
  /// Reads the file's note, refuses what does not fit, and only then loads the library and checks its descriptor.
  /// Throws UserError: exit 5 not a plugin, 6 does not fit this host, 7 its start-up code threw.
  [[nodiscard]] static LoadedPlugin load(const std::filesystem::path& file);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] const PluginNote& note() const { return note_; }
  [[nodiscard]] const BdcPluginDescriptor& descriptor() const { return *descriptor_; }
  /// Throws UserError: exit 5 when the plugin has none, 7 when asking threw or what it told makes no sense.
  [[nodiscard]] plugin::DetectorInfo detector_info() const;
  [[nodiscard]] plugin::HookInfo hook_info() const;

 private:
  std::string name_;
  std::filesystem::path file_;
  PluginNote note_;
  const BdcPluginDescriptor* descriptor_ = nullptr;
};

/// Runs code of a plugin. What it throws becomes a UserError (exit 7; exit 8 when memory ran out) that names the plugin
/// and the stage, e.g. "plugin 'yolov7' threw in forward: ...".
void call_plugin(const std::string& who, const std::string& stage, const std::function<void()>& call);

}  // namespace bdc::host
