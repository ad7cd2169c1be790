#include <filesystem>
#include <fstream>
#include <iostream>

#include "bdc/base/atomic_file.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/learn/annotator_posteriors.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/annotator_table.h"
#include "files/outputs.h"
#include "studio/report/load_report.h"
#include "studio/scorecard/scorecard.h"

namespace bdc::host {
namespace {

struct Flags {
  std::vector<std::string> files;
  std::string merged;
  std::size_t ends = 0;
  bool force = false;
  std::string scorecards;  ///< a folder
  bool no_names = false;
  std::vector<std::string> labels, consensus;
  std::string images;
};

bool is_scorecard(const std::string& file) {
  const std::string head = scorecard_head();
  std::ifstream in(file, std::ios::binary);
  std::string start(head.size(), ' ');
  return in.read(start.data(), static_cast<std::streamsize>(start.size())) && start == head;
}

/// What the pages show: the figures alone or, with labels, examples from them.
ReportData scorecard_data(const Flags& flags, const AnnotatorPosteriors& all) {
  ReportData data;
  if (flags.labels.empty()) {
    if (!flags.consensus.empty() || !flags.images.empty()) {
      throw UserError(ExitCode::usage, "--consensus and --images go with --labels, from which examples are taken");
    }
    data.posteriors = all;
    return data;
  }
  if (flags.files.size() > 1) {
    throw UserError(ExitCode::usage, "--labels: expected one file of annotators, learnt from these labels; found " +
                                         std::to_string(flags.files.size()));
  }
  ReportRequest request;
  request.inputs = flags.labels;
  request.consensus = flags.consensus;
  request.methods = {"bdc"};
  request.annotators = flags.files[0];
  request.images = flags.images;
  request.open_pictures = [](const CrowdData& crowd, const std::string& folder, std::vector<std::string>& warnings) {
    return open_engine().open_pictures(crowd, folder, warnings);
  };
  data = load_report(request);
  for (const std::string& note : data.notes) std::cerr << "note: " << note << "\n";
  return data;
}

void write_scorecards(const Flags& flags, const AnnotatorPosteriors& all) {
  const ReportData data = scorecard_data(flags, all);
  ScorecardSettings settings;
  settings.names = !flags.no_names;
  const Scorecards cards(data, settings);
  std::vector<std::string> files;
  for (const std::string& name : cards.file_names()) {
    files.push_back((std::filesystem::path(flags.scorecards) / name).string());
  }
  files.push_back((std::filesystem::path(flags.scorecards) / "index.html").string());
  std::vector<std::string> inputs = flags.files;
  inputs.insert(inputs.end(), flags.labels.begin(), flags.labels.end());
  inputs.insert(inputs.end(), flags.consensus.begin(), flags.consensus.end());
  check_output_folder(flags.scorecards);
  if (std::filesystem::exists(flags.scorecards) && !std::filesystem::is_directory(flags.scorecards)) {
    throw UserError(ExitCode::usage, "--scorecard: expected a folder, found the file " + flags.scorecards);
  }
  std::filesystem::create_directories(flags.scorecards);
  check_outputs(inputs, files, is_scorecard);
  keep_others_files(files, flags.force, is_scorecard);
  for (std::size_t k = 0; k < cards.size(); ++k) write_file_atomically(files[k], cards.page(k));
  write_file_atomically(files.back(), cards.index());
  std::cerr << "wrote " << counted(cards.size(), "scorecard") << " to " << flags.scorecards << "\n";
}

int annotators(const Flags& flags) {
  check_outputs(flags.files, {flags.merged});
  keep_others_files({flags.merged}, flags.force);
  AnnotatorPosteriors all = read_annotator_posteriors(flags.files[0]);
  for (std::size_t i = 1; i < flags.files.size(); ++i) all = merge(all, read_annotator_posteriors(flags.files[i]));
  if (!flags.merged.empty()) {
    AtomicFile out(flags.merged);
    write_annotator_posteriors(out.stream(), all);
    out.commit();
    std::cerr << "wrote " << flags.merged << "\n";
  }
  if (!flags.scorecards.empty()) write_scorecards(flags, all);
  std::cout << "profile " << all.profile << ", " << counted(all.classes.size(), "class", "classes") << "\n";
  print_annotators(std::cout, all, flags.ends);
  return 0;
}

}  // namespace

void add_annotators(Command& program) {
  Command verb = program.add_verb("annotators", "Show what was learnt about the annotators; merge such files");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("files", flags->files, "what `aggregate --annotators` wrote; several are merged")
      .required()
      .type_name("FILE");
  verb.add_option("--merge", flags->merged, "write the merged evidence here").type_name("FILE");
  verb.add_option("--ends", flags->ends, "show only the best and worst N").type_name("N").range(1, 1000000);
  verb.add_flag("--force", flags->force, "let --merge replace a file that is not marked as bdc-host's own");
  verb.add_option("--scorecard", flags->scorecards, "write a page for each annotator here, about their own boxes")
      .type_name("DIR");
  verb.add_option("--labels", flags->labels, "the labels, to take examples from; may be repeated")
      .type_name("PATH")
      .repeated();
  verb.add_option("--consensus", flags->consensus, "what `aggregate -o` wrote; else bdc runs on the labels")
      .type_name("FILE");
  verb.add_option("--images", flags->images, "pictures for the examples").type_name("DIR");
  verb.add_flag("--no-names", flags->no_names, "leave name and id out of the pages; files are still called by id");
  verb.footer(
      "Merging adds up counts: annotators by id, classes by name. A file holds the evidence of its own\n"
      "labels, not of the --prior it started from: nothing counts twice unless a file is given twice.\n"
      "quality = recall * class accuracy / (1 + spurious boxes per image).\n"
      "Examples:\n  bdc-host annotators monday.json tuesday.json --merge both.json\n"
      "  bdc-host annotators annotators.json --scorecard cards --labels crowd.json");
  verb.run([=] { return annotators(*flags); });
}

}  // namespace bdc::host
