#include <iostream>
#include <optional>

#include "bdc/base/table.h"
#include "cli/config/complete.h"
#include "cli/config/schema.h"
#include "cli/verb.h"
#include "cli/verbs/shared_options.h"
#include "plugins/options.h"

namespace bdc::host {
namespace {

int print_keys() {
  Table table({"key", "default", "allowed", "meaning"});
  for (const auto& key : config_keys()) {
    table.add({key.spec.name, key.recommended ? "the plugin's" : to_json(key.spec.default_value).dump(),
               range_text(key.spec), key.spec.help});
  }
  table.add({"plugin.options", "{}", "", "see `bdc-host plugins info NAME`"});
  table.add({"hooks", "[]", "", "list of {\"name\", \"priority\": 0..100, \"options\": {}}"});
  table.print(std::cout);
  return 0;
}

}  // namespace

void add_config(Command& program) {
  Command verb = program.add_verb("config", "Print the config a training run would use");
  const auto request = add_config_options(verb);
  const auto search = add_search_options(verb);
  const auto keys = std::make_shared<bool>(false);
  verb.add_flag("--keys", *keys, "list every key with its default and meaning instead");
  verb.footer(
      "Defaults, then the file with its _base_, then the command line. With a plugin, its\n"
      "recommendations and options are filled in.\n"
      "Example:\n"
      "  bdc-host config --plugin minimal --set train.epochs=5 > my.json");
  verb.run([=] {
    if (*keys) return print_keys();
    ConfigRequest full = *request;
    std::optional<Catalog> catalog;
    if (!full.plugin.empty()) {
      catalog = Catalog::read(*search);
      (void)use_demo_config(full, *catalog);
    }
    std::vector<ConfigLayer> layers;
    std::vector<std::string> notes;
    Json config = resolve_config(full, &layers, &notes);
    for (const std::string& note : notes) std::cerr << "note: " << note << "\n";
    if (!config["plugin"]["name"].get<std::string>().empty()) {
      if (!catalog) catalog = Catalog::read(*search);
      config = complete_config(std::move(config), *catalog, layers).json;
    } else if (!config["hooks"].empty()) {
      check_hooks(config, Catalog::read(*search), layers);
    }
    std::cout << config.dump(2) << "\n";
    return 0;
  });
}

}  // namespace bdc::host
