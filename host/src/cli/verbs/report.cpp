#include <filesystem>
#include <fstream>
#include <iostream>

#include "bdc/base/atomic_file.h"
#include "bdc/base/table.h"
#include "bdc/base/user_error.h"
#include "cli/config/complete.h"
#include "cli/config/config.h"
#include "cli/config/schema.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/label_options.h"
#include "files/outputs.h"
#include "plugins/builtin_info.h"
#include "show/progress.h"
#include "studio/report/load_report.h"
#include "studio/report/page.h"
#include "studio/report/sections.h"

namespace bdc::host {
namespace {

struct Flags {
  ReportRequest request;
  ReportSettings settings;
  std::string output, relabel_csv;
  bool quiet = false, force = false;
};

/// Whether a file is one that this verb has written earlier, by its first bytes.
bool begins_with(const std::string& file, const std::string& head) {
  std::ifstream in(file, std::ios::binary);
  std::string start(head.size(), ' ');
  return in.read(start.data(), static_cast<std::streamsize>(start.size())) && start == head;
}

/// A run's own files lie in its folder, and so may its report: that one alone may be replaced there.
void check_files(const Flags& flags, const ReadOptions& reading) {
  std::vector<std::string> inputs = flags.request.inputs;
  inputs.insert(inputs.end(),
                {flags.request.annotators, flags.request.truth, flags.request.images, reading.image_folder});
  for (const auto& text : flags.request.consensus) inputs.push_back(consensus_file(text).file);
  for (const auto& file : files_of(reading)) inputs.push_back(file);
  const auto is_ours = [&](const std::string& file) {
    return begins_with(file, file == flags.output ? report_head() : relabel_csv({}, 0));
  };
  require_no_folders({flags.output, flags.relabel_csv});
  check_outputs(inputs, {flags.output, flags.relabel_csv}, is_ours);
  keep_others_files({flags.output, flags.relabel_csv}, flags.force, is_ours);
}

/// The labels that a run was trained on, with their pictures.
std::shared_ptr<const Pictures> open_run(const std::string& run, CrowdData& labels) {
  const Json json = with_sets(read_json_file(std::filesystem::path(run) / "config.json"), {});
  RunConfig config = settings_of(json);
  for (const Json& hook : json["hooks"]) {  // a hook of a plugin is not loaded for this: what it learnt tells
    const plugin::HookInfo* known = find_builtin_hook(hook.value("name", ""));
    const bool learnt = std::filesystem::exists(std::filesystem::path(run) / "annotators.json");
    if (learnt || (known != nullptr && known->needs_annotators)) give_shapes_a_crowd(config);
  }
  return open_engine().open_training_data(config, labels);
}

int report(Flags flags, const ReadOptions& reading) {
  check_files(flags, reading);
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  flags.request.reading = reading;
  flags.request.threads = flags.settings.threads;
  flags.request.progress = [&](const std::string& text) { progress.live(text); };
  flags.request.open_pictures = [](const CrowdData& crowd, const std::string& folder,
                                   std::vector<std::string>& warnings) -> std::shared_ptr<const Pictures> {
    return open_engine().open_pictures(crowd, folder, warnings);
  };
  flags.request.open_run = open_run;
  const ReportData data = load_report(flags.request);
  print_notes(reading);
  if (!flags.relabel_csv.empty() && data.methods.empty()) {
    throw UserError(ExitCode::data, "--relabel-csv: there is no consensus to rank; annotators' labels are needed");
  }
  progress.live("drawing");
  const std::string page = render_report(data, flags.settings);
  write_file_atomically(flags.output, page);
  if (!flags.relabel_csv.empty()) {
    write_file_atomically(flags.relabel_csv, relabel_csv(data, static_cast<std::size_t>(-1)));
  }
  progress.finish();
  if (flags.quiet) return 0;
  for (const auto& note : data.notes) std::cerr << "note: " << note << "\n";
  std::cout << "report: " << flags.output << " (" << fixed(static_cast<double>(page.size()) / 1e6, 2) << " MB)\n";
  if (!flags.relabel_csv.empty()) std::cout << "worth another look: " << flags.relabel_csv << "\n";
  return 0;
}

}  // namespace

void add_report(Command& program) {
  Command verb = program.add_verb("report", "Show annotators, labels and runs in one HTML file");
  const auto flags = std::make_shared<Flags>();
  flags->request.methods = {"bdc", "mv"};
  verb.add_option("input", flags->request.inputs, "folder of a run or experiment, or labels (files, folders)")
      .required()
      .type_name("PATH");
  verb.add_option("-o,--output", flags->output, "the HTML file to write").required().type_name("FILE");
  verb.add_option("--consensus", flags->request.consensus, "what `aggregate -o` wrote; may be repeated")
      .type_name("[NAME=]FILE")
      .repeated();
  verb.add_option("--annotators", flags->request.annotators, "what `aggregate --annotators` wrote").type_name("FILE");
  verb.add_option("-m,--method", flags->request.methods, "without --consensus: methods to run [bdc mv]")
      .type_name("NAME")
      .repeated();
  verb.add_option("--truth", flags->request.truth, "true boxes, only to evaluate with").type_name("FILE");
  verb.add_option("--images", flags->request.images, "pictures for the gallery").type_name("DIR");
  verb.add_option("--clusters", flags->settings.clusters, "groups of annotators; 0: as many as stand out").range(0, 26);
  verb.add_option("--gallery", flags->settings.gallery, "images to show").range(0, 500).show_default();
  verb.add_option("--relabel-csv", flags->relabel_csv, "write what is worth another look here").type_name("FILE");
  verb.add_option("--title", flags->request.title, "heading of the page").type_name("TEXT");
  verb.add_option("--threads", flags->settings.threads, "0: all cores; the result is the same").range(0, 1024);
  verb.add_flag("-q,--quiet", flags->quiet, "print nothing");
  verb.add_flag("--force", flags->force, "replace a file that is not a report of ours");
  const auto reading = add_label_options(verb);
  verb.footer(
      "Examples:\n"
      "  bdc-host report runs/yolov7-1 -o report.html\n"
      "  bdc-host report crowd.json --images photos/ --relabel-csv again.csv -o report.html");
  verb.run([=] { return report(*flags, *reading); });
}

}  // namespace bdc::host
