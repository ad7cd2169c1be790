#include "cli/verbs/shared_options.h"

#include <algorithm>

namespace bdc::host {

std::shared_ptr<SearchRequest> add_search_options(Command& verb) {
  auto request = std::make_shared<SearchRequest>();
  verb.add_option("--plugin-path", request->folders, "also look for plugins in this folder").type_name("DIR");
  verb.add_option("--registry", request->registry, "use this registry.json").type_name("FILE");
  return request;
}

std::shared_ptr<ConfigRequest> add_config_options(Command& verb) {
  auto request = std::make_shared<ConfigRequest>();
  verb.add_option_handler(
          "-c,--config", [request](const std::string& file) { request->file = file; },
          "training config (JSON with comments)")
      .type_name("FILE");
  verb.add_option_handler(
          "--import-config", [request](const std::string& file) { request->imported = file; },
          "settings of YOLO (hyp.yaml), Detectron2 (YAML) or MMDetection (JSON)")
      .type_name("FILE");
  verb.add_option("-p,--plugin", request->plugin, "the detector").type_name("NAME");
  verb.add_option("--hook", request->hooks, "add a training hook; may be repeated")
      .type_name("NAME[:KEY=VALUE,...]")
      .repeated();
  verb.add_option("-s,--set", request->sets, "change a config key; may be repeated").type_name("KEY=VALUE").repeated();
  return request;
}

std::string use_demo_config(ConfigRequest& request, const Catalog& catalog) {
  const bool names_data = std::any_of(request.sets.begin(), request.sets.end(),
                                      [](const std::string& set) { return set.rfind("data.labels=", 0) == 0; });
  if (request.file || request.imported || names_data || request.plugin.empty() || catalog.registry_file().empty())
    return "";
  const auto file = catalog.registry_file().parent_path() / "configs" / ("demo_" + request.plugin + ".json");
  if (!std::filesystem::exists(file)) return "";
  request.file = file;
  return "no --data: using the built-in demo data and the settings of " + file.string();
}

}  // namespace bdc::host
