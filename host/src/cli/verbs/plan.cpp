#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "bdc/base/atomic_file.h"
#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/crowd_io.h"
#include "bdc/learn/judge/expected_ap.h"
#include "bdc/learn/learners.h"
#include "bdc/learn/plan/look_plan.h"
#include "cli/verb.h"
#include "cli/verbs/label_options.h"
#include "files/outputs.h"
#include "show/progress.h"
#include "studio/plan/plan_files.h"

namespace bdc::host {
namespace {

struct Flags {
  std::vector<std::string> labels;
  double budget = 0;
  int per_image = static_cast<int>(PlanSettings().per_image), threads = 0;
  std::string cost, exclude, predictions, prior, output, format;
  bool judge = false, quiet = false, force = false;
};

/// Whether a file is a plan that was written earlier.
bool is_plan(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string head(40, ' ');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.rfind("rank,image_id,file_name,annotator_id,", 0) == 0 || head.find("\"bdc_plan\"") != std::string::npos;
}

/// The format that was asked for, or the one that the file's name ends in.
const PlanFormat& format_for(const Flags& flags) {
  const std::string extension = lower_case(std::filesystem::path(flags.output).extension().string());
  const std::string name = !flags.format.empty()  ? flags.format
                           : extension == ".json" ? "json"
                           : extension == ".csv"  ? "csv"
                                                  : "";
  if (name.empty()) {
    throw UserError(ExitCode::usage, "--output " + printable(flags.output, 200) +
                                         ": expected a name that ends in .csv or .json, or --output-format NAME");
  }
  return *find_plan_format(name);
}

void check(const Flags& flags, const ReadOptions& reading) {
  std::vector<std::string> inputs = flags.labels;
  inputs.insert(inputs.end(), {flags.cost, flags.exclude, flags.predictions, flags.prior});
  for (const std::string& file : files_of(reading)) inputs.push_back(file);
  check_outputs(inputs, {flags.output}, is_plan);
  keep_others_files({flags.output}, flags.force, is_plan);
  if (flags.judge && !flags.predictions.empty()) {
    throw UserError(ExitCode::usage, "--judge is about the annotators' labels alone; leave out --predictions");
  }
  if (flags.judge && flags.quiet) throw UserError(ExitCode::usage, "--judge prints, so it does not go with --quiet");
  if (!flags.output.empty()) {
    (void)format_for(flags);
  } else if (!flags.format.empty()) {
    throw UserError(ExitCode::usage, "--output-format " + flags.format + " writes nothing without --output");
  }
}

std::string sum_text(double value) {
  return fixed(value, value == std::floor(value) ? 0 : 2);
}

/// When to stop: what the labels are worth as they are, and what the looks would add.
void print_worth(const ExpectedAp& now, const LookPlan& plan) {
  double gain = 0;
  for (const PlannedLook& look : plan.looks) gain += look.gain;
  std::cout << "AP that the labels are expected to have as they are: " << fixed(100 * now.ap.mean, 1) << " ("
            << fixed(100 * now.ap.low, 1) << " to " << fixed(100 * now.ap.high, 1)
            << " with 90 %); these looks would add about " << fixed(100 * gain / std::max(1.0, plan.objects), 1)
            << "\n\n";
}

/// Who gets how many looks, and the first of them.
void print_plan(const CrowdData& crowd, const LookPlan& plan) {
  double gain = 0, unseen = 0;
  std::vector<double> looks(crowd.annotators.size(), 0.0), gains(looks), costs(looks);
  for (const PlannedLook& look : plan.looks) {
    const auto k = static_cast<std::size_t>(look.annotator);
    looks[k] += 1;
    gains[k] += look.gain;
    costs[k] += look.cost;
    gain += look.gain;
    unseen += look.unseen;
  }
  std::cout << counted(plan.looks.size(), "look") << " at a cost of " << sum_text(plan.cost) << "; expected gain "
            << fixed(gain, 1) << " of " << fixed(plan.objects, 1) << " objects expected, " << fixed(unseen, 1)
            << " of it from objects that nobody has drawn yet\n\n";
  Table people({"annotator", "looks", "cost", "gain", "gain per cost"});
  for (std::size_t c = 1; c < 5; ++c) people.align_right(c);
  for (std::size_t k = 0; k < looks.size(); ++k) {
    if (looks[k] == 0) continue;
    people.add({printable(title_of(crowd.annotators[k]), 40), fixed(looks[k], 0), sum_text(costs[k]),
                fixed(gains[k], 2), fixed(gains[k] / costs[k], 3)});
  }
  people.print(std::cout);
  constexpr std::size_t shown = 10;
  std::cout << "\n" << (plan.looks.size() > shown ? "the first " + std::to_string(shown) + " looks" : "looks") << "\n";
  Table first({"image", "annotator", "gain", "seen by"});
  first.align_right(2);
  first.align_right(3);
  for (std::size_t n = 0; n < std::min(shown, plan.looks.size()); ++n) {
    const PlannedLook& look = plan.looks[n];
    const auto i = static_cast<std::size_t>(look.image);
    first.add({printable(title_of(crowd.images[i]), 60),
               printable(title_of(crowd.annotators[static_cast<std::size_t>(look.annotator)]), 40), fixed(look.gain, 3),
               std::to_string(lookers(crowd, i))});
  }
  first.print(std::cout);
}

int plan(const Flags& flags, const ReadOptions& reading) {
  check(flags, reading);
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  progress.live("reading " + flags.labels[0]);
  const CrowdData crowd = read_crowd(flags.labels, reading);
  if (crowd.images.empty() || crowd.classes.empty()) {
    throw DataError(flags.labels[0] + ": expected images and classes, found none; there is nothing to look at");
  }
  if (crowd.annotators.empty()) {
    throw DataError(flags.labels[0] + ": the labels have no annotators, so there is nobody to ask");
  }
  std::vector<std::string> notes;
  LookTerms terms;
  if (!flags.cost.empty()) {
    const std::size_t listed = read_look_costs(flags.cost, crowd, terms);
    if (listed < crowd.annotators.size()) {
      notes.push_back(flags.cost + " lists " + std::to_string(listed) + " of " +
                      counted(crowd.annotators.size(), "annotator") +
                      "; the others cost 1 and have as much time as wanted");
    }
  }
  if (!flags.exclude.empty()) (void)read_exclusions(flags.exclude, crowd, terms);
  std::optional<Predictions> predictions;
  if (!flags.predictions.empty()) predictions = read_predictions(flags.predictions, crowd);
  std::optional<AnnotatorPosteriors> prior;
  if (!flags.prior.empty()) prior = aligned_with(read_annotator_posteriors(flags.prior), crowd);
  FitInput input;
  input.crowd = &crowd;
  if (predictions) input.predictions = &*predictions;
  if (prior) input.prior = &*prior;
  input.threads = flags.threads;
  input.progress = [&](const bdc::Progress& p) {
    progress.live("aggregating  round " + std::to_string(p.round) + " (at most " + std::to_string(p.max_rounds) + ")");
  };
  const FitResult fit = make_learner("bdc")->fit(input);
  PlanSettings settings;
  settings.budget = flags.budget;
  settings.per_image = static_cast<std::size_t>(flags.per_image);
  settings.threads = flags.threads;
  settings.progress = [&](std::size_t done, std::size_t images) {
    progress.live("planning  image " + std::to_string(done) + "/" + std::to_string(images));
  };
  const LookPlan result = plan_looks(crowd, fit.targets, &*fit.posteriors, terms, settings);
  std::optional<ExpectedAp> worth;
  if (flags.judge) {
    ExpectedApSettings judging;
    judging.threads = flags.threads;
    judging.progress = [&](int done, int all) {
      progress.live("judging the labels  draw " + std::to_string(done) + "/" + std::to_string(all));
    };
    worth = judge_labels(crowd, fit, judging);
  }
  if (!crowd.assignments_known) {
    notes.push_back(
        "the labels do not say who saw which image: whoever drew nothing in an image counts as not having seen it, and "
        "may be asked to look at it");
  }
  if (result.cost + 1e-9 < flags.budget) {
    notes.push_back("the plan costs " + sum_text(result.cost) + " of " + sum_text(flags.budget) +
                    ": nobody with time has anything to gain beyond it, with at most " +
                    counted(settings.per_image, "new look") + " at an image");
  }
  if (!flags.output.empty()) write_file_atomically(flags.output, format_for(flags).text(crowd, result));
  progress.finish();
  print_notes(reading);
  for (const std::string& warning : fit.warnings) std::cerr << "note: " << warning << "\n";
  for (const std::string& note : notes) std::cerr << "note: " << note << "\n";
  if (flags.quiet) return 0;
  if (worth) print_worth(*worth, result);
  print_plan(crowd, result);
  if (!flags.output.empty()) std::cout << "\nplan: " << flags.output << "\n";
  return 0;
}

}  // namespace

void add_plan(Command& program) {
  Command verb = program.add_verb("plan", "Say which image should be shown to which annotator next");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("labels", flags->labels, "files or folders of one format").required().type_name("PATH");
  verb.add_option("--budget", flags->budget, "what the looks may cost together; without --cost: how many looks")
      .required()
      .type_name("N")
      .range(1e-6, 1e12);
  verb.add_option("--cost", flags->cost, "CSV with annotator, cost and looks: price of a look, looks there is time for")
      .type_name("FILE");
  verb.add_option("--exclude", flags->exclude, "CSV with annotator and image: who may not see what").type_name("FILE");
  verb.add_option("--per-image", flags->per_image, "new looks at one image at most").range(1, 100).show_default();
  verb.add_option("-o,--output", flags->output, "write the plan here: .csv, .json").type_name("FILE");
  verb.add_option("--output-format", flags->format, "csv, json, cvat or label-studio [from the file's name]")
      .type_name("NAME")
      .one_of([] {
        std::vector<std::string> names;
        for (const PlanFormat& format : plan_formats()) names.emplace_back(format.name);
        return names;
      }());
  verb.add_option("--predictions", flags->predictions, "a detector's results on the same images").type_name("FILE");
  verb.add_option("--prior", flags->prior, "annotators of an earlier project").type_name("FILE");
  verb.add_flag("--judge", flags->judge, "also say what AP the labels are expected to have (takes four fits)");
  verb.add_option("--threads", flags->threads, "0: all cores; the result is the same").range(0, 1024);
  verb.add_flag("-q,--quiet", flags->quiet, "no progress, no tables");
  verb.add_flag("--force", flags->force, "replace a file that is no plan of bdc-host's");
  const auto reading = add_label_options(verb);
  verb.footer(
      "A look is one annotator who goes over one image. The gain is in objects: 1 is an object that becomes found,\n"
      "named, in place and known to be so.\n"
      "Examples:\n"
      "  bdc-host plan crowd.json --budget 500 --cost annotators.csv -o plan.csv\n"
      "  bdc-host plan crowd.json --budget 500 -o tasks.json --output-format label-studio");
  verb.run([=] { return plan(*flags, *reading); });
}

}  // namespace bdc::host
