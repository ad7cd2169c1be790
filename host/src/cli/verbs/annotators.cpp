#include <iostream>

#include "bdc/base/atomic_file.h"
#include "bdc/learn/annotator_posteriors.h"
#include "cli/verb.h"
#include "cli/verbs/annotator_table.h"
#include "files/outputs.h"

namespace bdc::host {
namespace {

struct Flags {
  std::vector<std::string> files;
  std::string merged;
  std::size_t ends = 0;
  bool force = false;
};

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
  std::cout << "profile " << all.profile << ", " << all.classes.size() << " classes\n";
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
  verb.footer(
      "Merging adds up counts: annotators by id, classes by name. A file holds the evidence of its own\n"
      "labels, not of the --prior it started from: nothing counts twice unless a file is given twice.\n"
      "quality = recall * class accuracy / (1 + spurious boxes per image).\n"
      "Example:\n  bdc-host annotators monday.json tuesday.json --merge both.json");
  verb.run([=] { return annotators(*flags); });
}

}  // namespace bdc::host
