#include <filesystem>
#include <iostream>

#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "cli/verb.h"
#include "files/json_file.h"
#include "files/metrics_log.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

struct RunSummary {
  std::string name, hooks;
  Json last;  ///< see latest_metrics
  std::int64_t epochs = 0;
};

RunSummary read_run(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "config.json", ignored)) {
    throw UserError(ExitCode::data, folder.string() + ": is not a run folder");
  }
  RunSummary out;
  out.name = folder.string();
  std::vector<std::string> hooks;
  const Json config = read_json_file(folder / "config.json");
  for (const auto& hook : config.value("hooks", Json::array())) hooks.push_back(hook.value("name", "?"));
  out.hooks = hooks.empty() ? "none" : join(hooks);
  out.last = latest_metrics(folder);
  out.epochs = out.last.value("epoch", std::int64_t{0});
  return out;
}

/// AP of the labels a run was trained on, as its hook reported it.
double labels_ap(const RunSummary& run) {
  double ap = -1;
  for (const auto& [name, value] : run.last.items()) {
    if (name.size() > 3 && name.compare(name.size() - 3, 3, "/AP") == 0 && name != "test/AP" && value.is_number()) {
      ap = value.get<double>();
    }
  }
  return ap;
}

int compare(const std::vector<std::string>& folders, bool json) {
  std::vector<RunSummary> runs;
  for (const std::string& folder : folders) runs.push_back(read_run(folder));
  const auto number = [](const RunSummary& run, const char* name) {
    return run.last.contains(name) && run.last[name].is_number() ? run.last[name].get<double>() : -1.0;
  };
  if (json) {
    Json out = Json::array();
    for (const RunSummary& run : runs) {
      out.push_back({{"run", run.name}, {"hooks", run.hooks}, {"epochs", run.epochs}, {"last", run.last}});
    }
    std::cout << out.dump(2) << "\n";
    return 0;
  }
  Table table({"hook", "test AP50", "test AP", "AP of the labels", "epochs", "images/s", "run"});
  for (std::size_t c = 1; c < 6; ++c) table.align_right(c);
  const auto cell = [](double value, int digits) { return value < 0 ? std::string("-") : fixed(value, digits); };
  for (const RunSummary& run : runs) {
    table.add({run.hooks, cell(number(run, "test/AP50"), 3), cell(number(run, "test/AP"), 3), cell(labels_ap(run), 3),
               std::to_string(run.epochs), cell(number(run, "mean_images_per_second"), 0), run.name});
  }
  table.print(std::cout);
  return 0;
}

}  // namespace

void add_compare(Command& program) {
  Command verb = program.add_verb("compare", "Compare finished runs in one table");
  const auto folders = std::make_shared<std::vector<std::string>>();
  const auto json = std::make_shared<bool>(false);
  verb.add_option("runs", *folders, "run folders").required().type_name("RUN");
  verb.add_flag("--json", *json, "as JSON");
  verb.footer("Example:\n  bdc-host compare runs/na runs/mv runs/bdc");
  verb.run([=] { return compare(*folders, *json); });
}

}  // namespace bdc::host
