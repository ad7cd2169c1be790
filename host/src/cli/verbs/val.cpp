#include <iostream>

#include "bdc/base/user_error.h"
#include "cli/config/complete.h"
#include "cli/config/run_file.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/evaluation_table.h"
#include "cli/verbs/shared_options.h"
#include "files/json_file.h"

namespace bdc::host {
namespace {

struct Flags {
  std::string what, picture, device = "auto";
  std::vector<std::string> sets;
  bool quiet = false, json = false;
};

int val(const Flags& flags, const SearchRequest& search) {
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  const Catalog catalog = Catalog::read(search);
  const auto run = open_engine().open_trained(flags.what);
  const Json own = parse_run_config(run->config(), flags.what), config = with_sets(own, flags.sets);
  if (config["plugin"] != own["plugin"]) {
    throw UserError(ExitCode::usage, "--set plugin.*: a detector is evaluated as it was trained; leave it out");
  }
  const Validation result =
      run->validate(to_run_config(config, catalog), {flags.picture, flags.device}, catalog, progress);
  const CocoEvalResult& evaluation = result.evaluation;
  if (flags.json) {
    Json out = {{"weights", result.weights},
                {"images", result.images},
                {"broken_images", result.broken},
                {"warnings", result.warnings}};
    for (std::size_t i = 0; i < evaluation.stats.size(); ++i) out[coco_stat_names()[i]] = evaluation.stats[i];
    for (std::size_t c = 0; c < result.class_names.size(); ++c) {
      const auto& one = evaluation.classes[c];
      out["classes"].push_back({{"name", result.class_names[c]},
                                {"AP", one.ap},
                                {"AP50", one.ap50},
                                {"AP75", one.ap75},
                                {"objects", one.truth_count}});
    }
    std::cout << out.dump(2) << "\n";
    return 0;
  }
  print_evaluation(std::cout, evaluation, result.class_names);
  if (result.broken > 0) {
    std::cout << result.broken << " of " << result.images << " images cannot be read; their objects do not count\n";
  }
  if (!flags.picture.empty()) std::cout << "\nprecision and recall: " << flags.picture << "\n";
  return 0;
}

}  // namespace

void add_val(Command& program) {
  Command verb = program.add_verb("val", "Evaluate a trained detector on labelled images");
  const auto search = add_search_options(verb);
  const auto flags = std::make_shared<Flags>();
  verb.add_option("run", flags->what, "run folder, or a weight file of a run").required().type_name("RUN");
  verb.add_option("-s,--set", flags->sets, "change a key of the run's config, such as data.val_labels")
      .type_name("KEY=VALUE")
      .repeated();
  verb.add_option("--picture", flags->picture, "save the precision-recall curve as this PNG").type_name("FILE");
  verb.add_option("--device", flags->device, "cpu, cuda or cuda:N; default: CUDA if available").type_name("DEVICE");
  verb.add_flag("-q,--quiet", flags->quiet, "no progress");
  verb.add_flag("--json", flags->json, "print the result as JSON");
  verb.footer(
      "Without --set, uses the images the run itself was evaluated on.\n"
      "Example:\n"
      "  bdc-host val runs/yolov7-1 --set data.val_labels=test.json --set data.val_images=test/ --picture pr.png");
  verb.run([=] { return val(*flags, *search); });
}

}  // namespace bdc::host
