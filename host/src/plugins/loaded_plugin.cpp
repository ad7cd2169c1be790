#include "plugins/loaded_plugin.h"

#include <bdc/plugin/abi.h>

#include <boost/dll/shared_library.hpp>
#include <exception>
#include <mutex>
#include <new>
#include <set>
#include <vector>

#include "bdc/base/short_message.h"
#include "bdc/base/text.h"
#include "plugins/options.h"

namespace bdc::host {
namespace {

/// Keeps every library loaded until the process ends.
void keep_forever(boost::dll::shared_library library) {
  static std::mutex mutex;
  static auto* const libraries = new std::vector<boost::dll::shared_library>;  // never destroyed, on purpose
  const std::lock_guard<std::mutex> lock(mutex);
  libraries->push_back(std::move(library));
}

const BdcPluginDescriptor* open_library(const std::filesystem::path& file) {
  boost::dll::shared_library library;
  boost::system::error_code error;
  std::string loader_text;
  try {
    const std::string absolute = std::filesystem::absolute(file).string();
    library.load(absolute, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
  } catch (const boost::system::system_error& e) {
    throw UserError(ExitCode::abi_mismatch, file.string() + ": the loader refused it: " + printable(e.what(), 2000) +
                                                "\n  advice: a library it needs is missing, or it was linked against "
                                                "versions other than its note says; build it again on this machine");
  }
  const bool has = library.has("bdc_plugin_descriptor");
  const BdcPluginDescriptor* descriptor =
      has ? &library.get<const BdcPluginDescriptor>("bdc_plugin_descriptor") : nullptr;
  keep_forever(std::move(library));
  if (!descriptor) {
    throw UserError(ExitCode::abi_mismatch,
                    file.string() +
                        ": exports no bdc_plugin_descriptor\n  advice: put BDC_EXPORT_DETECTOR into one source of the "
                        "plugin and build it with bdc_add_detector_plugin");
  }
  return descriptor;
}

void check_descriptor(const BdcPluginDescriptor& descriptor, const PluginNote& note, const std::string& file) {
  const auto fail = [&](const std::string& what) {
    throw UserError(ExitCode::abi_mismatch,
                    file + ": " + what + "\n  advice: build the plugin again with bdc_add_detector_plugin");
  };
  if (descriptor.magic != BDC_PLUGIN_MAGIC) fail("its descriptor has a wrong magic number");
  if (descriptor.struct_size < sizeof(BdcPluginDescriptor)) {
    fail("its descriptor has " + std::to_string(descriptor.struct_size) + " bytes, expected at least " +
         std::to_string(sizeof(BdcPluginDescriptor)));
  }
  if (!descriptor.fingerprint || !descriptor.name) fail("its descriptor has no fingerprint or name");
  Fingerprint own;
  try {
    own = Fingerprint::parse(descriptor.fingerprint);
  } catch (const std::invalid_argument& e) {
    fail(std::string("its descriptor's fingerprint cannot be understood: ") + e.what());
  }
  const std::string why = mismatch(Fingerprint::of_host(), own);
  if (!why.empty()) throw UserError(ExitCode::abi_mismatch, file + ": " + why);
  if (descriptor.name != note.name) {
    fail("its note says '" + note.name + "', its descriptor '" + printable(descriptor.name, 64) + "'");
  }
  if (!descriptor.detector_info != !descriptor.create_detector || !descriptor.hook_info != !descriptor.create_hook ||
      (!descriptor.create_detector && !descriptor.create_hook)) {
    fail("its descriptor has only half of a factory");
  }
}

/// A schema a plugin tells must itself make sense, or checking against it means nothing.
void check_schema(const std::vector<plugin::OptionSpec>& schema, const std::string& who) {
  std::set<std::string> names;
  for (const auto& spec : schema) {
    if (spec.name.empty() || !names.insert(spec.name).second) {
      throw UserError(ExitCode::plugin_threw,
                      who + " describes the option '" + printable(spec.name) + "' twice or without a name");
    }
    try {
      (void)check_option(spec, to_json(spec.default_value), spec.name);
    } catch (const UserError& e) {
      throw UserError(ExitCode::plugin_threw,
                      who + " describes an option whose default it does not allow: " + e.what());
    }
  }
}

/// What a plugin says of its detector or hook, with its own name where it gives none. `what`: which of the two.
template <class Info, class Describe>
Info described(Describe describe, const std::string& who, const std::string& what, const LoadedPlugin& plugin) {
  if (!describe) {
    throw UserError(ExitCode::plugin_not_found, who + " (" + plugin.file().string() + ") holds no " + what);
  }
  Info info;
  call_plugin(who, "describe", [&] { describe(&info); });
  if (info.name.empty()) info.name = plugin.name();
  check_schema(info.options, who);
  return info;
}

}  // namespace

void call_plugin(const std::string& who, const std::string& stage, const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw UserError(ExitCode::device, who + ": out of memory in " + stage);
  } catch (const std::exception& e) {
    const std::string what = short_message(e);
    const bool memory = what.find("DefaultCPUAllocator: can't allocate") != std::string::npos ||
                        what.find("not enough memory") != std::string::npos ||
                        what.find("out of memory") != std::string::npos;
    throw UserError(memory ? ExitCode::device : ExitCode::plugin_threw, who + " threw in " + stage + ": " + what);
  } catch (...) {
    throw UserError(ExitCode::plugin_threw, who + " threw in " + stage + ": something that is not a std::exception");
  }
}

LoadedPlugin LoadedPlugin::load(const std::filesystem::path& file) {
  LoadedPlugin plugin;
  plugin.file_ = file;
  plugin.note_ = read_plugin_note(file);
  const std::string why = mismatch(Fingerprint::of_host(), plugin.note_.fingerprint);
  if (!why.empty()) throw UserError(ExitCode::abi_mismatch, file.string() + ": " + why);
  call_plugin(file.string(), "loading", [&] { plugin.descriptor_ = open_library(file); });
  check_descriptor(*plugin.descriptor_, plugin.note_, file.string());
  plugin.name_ = plugin.note_.name;
  return plugin;
}

plugin::DetectorInfo LoadedPlugin::detector_info() const {
  const std::string who = "plugin '" + name_ + "'";
  auto info = described<plugin::DetectorInfo>(descriptor_->detector_info, who, "detector", *this);
  if (info.stride < 1 || info.min_input_size < info.stride || info.input_size < info.min_input_size ||
      info.input_size % info.stride != 0 || info.min_input_size % info.stride != 0) {
    throw UserError(ExitCode::plugin_threw, who + " describes sizes that make no sense: input " +
                                                std::to_string(info.input_size) + ", smallest " +
                                                std::to_string(info.min_input_size) + ", stride " +
                                                std::to_string(info.stride));
  }
  return info;
}

plugin::HookInfo LoadedPlugin::hook_info() const {
  return described<plugin::HookInfo>(descriptor_->hook_info, "hook '" + name_ + "'", "hook", *this);
}

}  // namespace bdc::host
