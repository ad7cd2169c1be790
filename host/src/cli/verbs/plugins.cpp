#include <algorithm>
#include <filesystem>
#include <iostream>

#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "cli/config/key_and_value.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/shared_options.h"
#include "plugins/builtin_info.h"
#include "plugins/doctor.h"
#include "plugins/loaded_plugin.h"
#include "plugins/options.h"

namespace bdc::host {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// What a plugin is and whether it can be used, without running any of its code.
struct Row {
  std::string name, kind, status, file, description;
};

std::vector<Row> rows_of(const Catalog& catalog) {
  std::vector<Row> out;
  const auto& entries = catalog.entries();
  for (const auto& entry : entries) {
    std::string kind = "?";
    if (entry.note) {
      kind = entry.note->has_detector ? (entry.note->has_hook ? "detector, hook" : "detector") : "hook";
    }
    const auto twins = std::count_if(entries.begin(), entries.end(), [&](const PluginEntry& e) {
      return e.name == entry.name && e.note && entry.note &&
             ((e.note->has_detector && entry.note->has_detector) || (e.note->has_hook && entry.note->has_hook));
    });
    std::string status = "ok";
    if (!entry.problem.empty()) {
      status = first_line(entry.problem);
      const std::string prefix = entry.file.string() + ": ";
      if (status.compare(0, prefix.size(), prefix) == 0) status = status.substr(prefix.size());
    } else if (twins > 1) {
      status = "another plugin has the same name";
    }
    if (entry.note && entry.note->has_hook && find_builtin_hook(entry.name) != nullptr) {
      status = "a built-in hook has the same name";
    }
    out.push_back({entry.name, kind, status, entry.file.string(), entry.description});
  }
  return out;
}

int list(const SearchRequest& search, bool json) {
  const Catalog catalog = Catalog::read(search);
  const auto rows = rows_of(catalog);
  if (json) {
    Json out = {{"registry", catalog.registry_file().string()}, {"folders", Json::array()}, {"plugins", Json::array()}};
    for (const auto& folder : catalog.folders()) out["folders"].push_back(folder.string());
    for (const auto& r : rows) {
      out["plugins"].push_back({{"name", r.name},
                                {"kind", r.kind},
                                {"usable", r.status == "ok"},
                                {"status", r.status},
                                {"file", r.file},
                                {"description", r.description}});
    }
    for (const auto& hook : builtin_hooks()) {
      out["built_in_hooks"].push_back({{"name", hook.name}, {"description", hook.description}});
    }
    std::cout << out.dump(2) << "\n";
    return 0;
  }
  if (rows.empty()) {
    std::cout << "no plugins found; looked in:\n";
    for (const auto& folder : catalog.folders()) std::cout << "  " << folder.string() << "\n";
    std::cout << "\n";
  }
  Table table({"name", "kind", "status", "file"});
  for (const auto& r : rows) table.add({r.name, r.kind, r.status, r.file});
  for (const auto& hook : builtin_hooks()) table.add({hook.name, "hook", "ok", "(built in)"});
  table.print(std::cout);
  return 0;
}

/// A file by path, or a plugin by name.
fs::path file_of(const std::string& what, const SearchRequest& search, Json* registry_options,
                 std::vector<std::string> also_known = {}) {
  std::error_code ignored;
  const bool path_like =
      what.find('/') != std::string::npos || (what.size() > 3 && what.compare(what.size() - 3, 3, ".so") == 0);
  if (path_like) return what;
  const Catalog catalog = Catalog::read(search);
  const auto kind = !catalog.has(what, Catalog::Kind::detector) && catalog.has(what, Catalog::Kind::hook)
                        ? Catalog::Kind::hook
                        : Catalog::Kind::detector;
  for (const PluginEntry& hook : catalog.entries()) {
    if (hook.note && hook.note->has_hook) also_known.push_back(hook.name);
  }
  const PluginEntry& entry = catalog.find(what, kind, also_known);
  if (registry_options) *registry_options = entry.options;
  return entry.file;
}

Json options_json(const std::vector<plugin::OptionSpec>& options) {
  Json out = Json::array();
  for (const auto& o : options) {
    out.push_back({{"name", o.name},
                   {"type", type_name(o.default_value)},
                   {"default", to_json(o.default_value)},
                   {"allowed", range_text(o)},
                   {"help", o.help}});
  }
  return out;
}

void print_options(const std::vector<plugin::OptionSpec>& options) {
  if (options.empty()) {
    std::cout << "\nIt has no options.\n";
    return;
  }
  std::cout << "\n";
  Table table({"option", "type", "default", "allowed", "meaning"});
  for (const auto& o : options)
    table.add({o.name, type_name(o.default_value), to_json(o.default_value).dump(), range_text(o), o.help});
  table.print(std::cout);
}

Json hook_json(const plugin::HookInfo& info) {
  return {{"description", info.description},
          {"priority", info.priority},
          {"replaces_targets", info.replaces_targets},
          {"needs_annotators", info.needs_annotators},
          {"needs_predictions", info.needs_predictions},
          {"needs_crowd", info.needs_crowd},
          {"options", options_json(info.options)}};
}

Json info_json(const LoadedPlugin& plugin) {
  Json out = {
      {"name", plugin.name()}, {"file", plugin.file().string()}, {"fingerprint", plugin.note().fingerprint.text()}};
  if (plugin.note().has_detector) {
    const auto info = plugin.detector_info();
    out["detector"] = {{"version", info.version},
                       {"description", info.description},
                       {"input_size", info.input_size},
                       {"stride", info.stride},
                       {"optimizer",
                        {{"kind", info.optimizer.kind},
                         {"learning_rate", info.optimizer.learning_rate},
                         {"momentum", info.optimizer.momentum},
                         {"weight_decay", info.optimizer.weight_decay},
                         {"batch_size", info.optimizer.batch_size}}},
                       {"detections",
                        {{"min_score", info.detections.min_score},
                         {"nms_iou", info.detections.nms_iou},
                         {"max_per_image", info.detections.max_per_image}}},
                       {"capabilities", info.capabilities},
                       {"options", options_json(info.options)}};
  }
  if (plugin.note().has_hook) {
    out["hook"] = hook_json(plugin.hook_info());
  }
  return out;
}

void print_hook(const plugin::HookInfo& info) {
  std::cout << "hook         " << info.name << ": " << info.description << "\n"
            << "priority     " << info.priority << " (0 runs first, 100 last)\n";
  print_options(info.options);
}

int info(const std::string& name, const SearchRequest& search, bool json) {
  if (const plugin::HookInfo* hook = find_builtin_hook(name)) {
    if (json) {
      std::cout << Json{{"name", name}, {"file", "(built in)"}, {"hook", hook_json(*hook)}}.dump(2) << "\n";
    } else {
      print_hook(*hook);
    }
    return 0;
  }
  std::vector<std::string> built_in;
  for (const plugin::HookInfo& hook : builtin_hooks()) built_in.push_back(hook.name);
  const LoadedPlugin plugin = LoadedPlugin::load(file_of(name, search, nullptr, built_in));
  if (json) {
    std::cout << info_json(plugin).dump(2) << "\n";
    return 0;
  }
  std::cout << "file         " << plugin.file().string() << "\n"
            << "fingerprint  " << plugin.note().fingerprint.text() << "\n";
  if (plugin.note().has_detector) {
    const auto d = plugin.detector_info();
    std::cout << "detector     " << d.name << " " << d.version << ": " << d.description << "\n"
              << "input        " << d.input_size << " px by default, multiples of " << d.stride << ", at least "
              << d.min_input_size << "\n"
              << "optimiser    " << d.optimizer.kind << ", learning rate " << Json(d.optimizer.learning_rate).dump()
              << ", weight decay " << Json(d.optimizer.weight_decay).dump() << ", batch " << d.optimizer.batch_size
              << "\n";
    std::cout << "detections   score above " << Json(d.detections.min_score).dump() << ", suppressed at IoU "
              << Json(d.detections.nms_iou).dump() << ", at most " << d.detections.max_per_image << " in an image\n";
    if (!d.capabilities.empty()) std::cout << "capable of   " << join(d.capabilities) << "\n";
    print_options(d.options);
  }
  if (plugin.note().has_hook) print_hook(plugin.hook_info());
  return 0;
}

/// A built-in hook is no plugin, and its checks are the tests of bdc-host.
void refuse_built_in_hook(const std::string& what, const SearchRequest& search) {
  if (find_builtin_hook(what) == nullptr) return;
  const Catalog catalog = Catalog::read(search);
  for (const PluginEntry& entry : catalog.entries()) {
    if (entry.name == what) return;
  }
  throw UserError(ExitCode::plugin_not_found, "'" + what +
                                                  "' is a built-in hook, a part of bdc-host, and needs no doctor" +
                                                  "\n  advice: `bdc-host plugins info " + what + "` shows its options");
}

int doctor(const std::string& what, const SearchRequest& search, const std::vector<std::string>& sets, double timeout,
           bool json) {
  Json options = Json::object();
  refuse_built_in_hook(what, search);
  const fs::path file = file_of(what, search, &options);
  for (const auto& set : sets) {
    const auto [key, text] = key_and_value("--option", set);
    const Json value = Json::parse(text, nullptr, false);
    options[key] = value.is_discarded() || value.is_structured() ? Json(text) : value;
  }
  require_engine();
  const Diagnosis diagnosis = examine(file, options, timeout);
  using Status = CheckResult::Status;
  const auto word = [](Status s) {
    return s == Status::passed ? "pass" : s == Status::failed ? "FAIL" : s == Status::told ? "note" : "not run";
  };
  if (json) {
    Json out = {{"file", file.string()}, {"healthy", diagnosis.healthy()}, {"checks", Json::array()}};
    for (const auto& c : diagnosis.checks)
      out["checks"].push_back({{"name", c.name}, {"status", word(c.status)}, {"reason", c.reason}});
    std::cout << out.dump(2) << "\n";
    return diagnosis.exit_code();
  }
  std::cout << file.string() << "\n\n";
  Table table({"check", "result", "law"});
  std::size_t passed = 0;
  for (const auto& c : diagnosis.checks) {
    passed += c.status == Status::passed ? 1 : 0;
    table.add({c.name, word(c.status), c.law});
  }
  table.print(std::cout);
  std::cout << "\n" << passed << " of " << diagnosis.checks.size() << " checks passed\n";
  for (const auto& c : diagnosis.checks) {
    if (c.status == Status::failed || c.status == Status::told) std::cout << "\n" << c.name << ": " << c.reason << "\n";
  }
  return diagnosis.exit_code();
}

}  // namespace

void add_plugins(Command& program) {
  Command group = program.add_verb("plugins", "List, describe and check plugins");
  group.require_verb();
  group.footer("Example:\n  bdc-host plugins list");

  Command list_verb = group.add_verb("list", "Every plugin that can be found from here");
  const auto list_search = add_search_options(list_verb);
  const auto list_json = std::make_shared<bool>(false);
  list_verb.add_flag("--json", *list_json, "as JSON");
  list_verb.footer("Runs no plugin code.\nExample:\n  bdc-host plugins list --plugin-path ~/my-detectors");
  list_verb.run([=] { return list(*list_search, *list_json); });

  Command info_verb = group.add_verb("info", "A plugin's fingerprint, defaults and options");
  const auto info_search = add_search_options(info_verb);
  const auto info_name = std::make_shared<std::string>();
  const auto info_as_json = std::make_shared<bool>(false);
  info_verb.add_option("plugin", *info_name, "its name or its .so file").required().type_name("NAME|FILE");
  info_verb.add_flag("--json", *info_as_json, "as JSON");
  info_verb.footer("Example:\n  bdc-host plugins info minimal");
  info_verb.run([=] { return info(*info_name, *info_search, *info_as_json); });

  Command doctor_verb = group.add_verb("doctor", "Check that a detector keeps the plugin contract");
  const auto doctor_search = add_search_options(doctor_verb);
  const auto doctor_what = std::make_shared<std::string>();
  const auto doctor_options = std::make_shared<std::vector<std::string>>();
  const auto doctor_timeout = std::make_shared<double>(600);
  const auto doctor_json = std::make_shared<bool>(false);
  doctor_verb.add_option("plugin", *doctor_what, "its name or its .so file").required().type_name("NAME|FILE");
  doctor_verb.add_option("-o,--option", *doctor_options, "build it with this option; may be repeated")
      .type_name("KEY=VALUE")
      .repeated();
  doctor_verb.add_option("--timeout", *doctor_timeout, "seconds before giving up").type_name("S").range(1.0, 86400.0);
  doctor_verb.add_flag("--json", *doctor_json, "as JSON");
  doctor_verb.footer(
      "Runs in a child process: a plugin that crashes or hangs only fails its check.\n"
      "Exit code: 0 healthy, 1 a check failed, 5 not a plugin, 6 does not fit this host, 7 threw or crashed.\n"
      "Example:\n  bdc-host plugins doctor build/plugins/minimal.so");
  doctor_verb.run([=] { return doctor(*doctor_what, *doctor_search, *doctor_options, *doctor_timeout, *doctor_json); });
}

}  // namespace bdc::host
