#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>

#include "bdc/base/atomic_file.h"
#include "bdc/base/checksum.h"
#include "bdc/base/now_seconds.h"
#include "bdc/base/parallel.h"
#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/consensus.h"
#include "bdc/crowd/decisions.h"
#include "bdc/crowd/labels_digest.h"
#include "bdc/learn/learners.h"
#include "bdc/learn/settled.h"
#include "bdc/metrics/aggregation_ap.h"
#include "bdc/metrics/agreement.h"
#include "bdc/metrics/calibration.h"
#include "cli/config/key_and_value.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/annotator_table.h"
#include "cli/verbs/label_options.h"
#include "cli/verbs/processes.h"
#include "files/json_file.h"
#include "files/outputs.h"
#include "launch/local_ranks.h"
#include "ranks/agree.h"
#include "show/progress.h"

namespace bdc::host {
namespace {

struct Flags {
  std::vector<std::string> labels;
  std::string method = "bdc", predictions, prior, output, annotators, truth;
  std::vector<std::string> options, decisions;
  ConsensusOptions consensus;
  double min_existence = 0, min_score = 0;
  int threads = 0;
  int processes = 1;
  double timeout = 60;
  bool quiet = false, json = false, list = false, force = false;
};

std::map<std::string, std::string> option_map(const std::vector<std::string>& options) {
  std::map<std::string, std::string> out;
  for (const auto& option : options) {
    const auto [key, value] = key_and_value("--option", option);
    if (value.empty()) throw UserError(ExitCode::usage, "--option " + printable(option) + ": expected KEY=VALUE");
    if (!out.emplace(key, value).second) {
      throw UserError(ExitCode::usage, "--option " + printable(option) + ": this option is given twice");
    }
  }
  return out;
}

std::unique_ptr<Learner> method_for(const std::string& name, const std::map<std::string, std::string>& options) {
  try {
    return make_learner(name, options, "--option");
  } catch (const std::invalid_argument& e) {
    throw UserError(ExitCode::usage, e.what());
  }
}

struct Work {
  CrowdData crowd;
  std::optional<Predictions> predictions;
  std::optional<AnnotatorPosteriors> prior;
  std::optional<Decisions> decisions;
  std::vector<char> evaluated;
  std::vector<std::string> notes;
};

Predictions predictions_for(const CrowdData& crowd, const std::string& file) {
  try {
    return read_predictions(file, crowd);
  } catch (const DataError& e) {
    const std::string what = e.what();
    if (what.find("image_id") == std::string::npos) throw;
    throw DataError(what + "\n  advice: predict on the images of the labels, and use their ids or file names");
  }
}

/// What an earlier project learnt of the annotators of this one.
AnnotatorPosteriors prior_for(const CrowdData& crowd, const std::string& file, std::vector<std::string>& notes) {
  Alignment how;
  AnnotatorPosteriors prior = aligned_with(read_annotator_posteriors(file), crowd, &how);
  if (how.by_name) {
    notes.push_back(file +
                    ": its ids belong to different people than in the labels, so annotators are matched by name");
  }
  if (how.matched == 0) notes.push_back(file + ": has none of these labels' annotators, so it changes nothing");
  return prior;
}

/// Says how many boxes leave their images: they are used as drawn.
void tell_boxes_outside(const CrowdData& crowd, std::vector<std::string>& notes) {
  constexpr double tolerance = 0.01;  // pixels, as `validate` has it
  std::size_t leaving = 0, outside = 0;
  for (const Annotation& a : crowd.annotations) {
    const ImageRecord& image = crowd.images[static_cast<std::size_t>(a.image)];
    if (image.width == 0) continue;
    const double w = image.width, h = image.height;
    const bool misses = a.box.x1 >= w || a.box.y1 >= h || a.box.x2 <= 0 || a.box.y2 <= 0;
    const bool leaves =
        a.box.x1 < -tolerance || a.box.y1 < -tolerance || a.box.x2 > w + tolerance || a.box.y2 > h + tolerance;
    outside += misses ? 1 : 0;
    leaving += !misses && leaves ? 1 : 0;
  }
  if (leaving + outside == 0) return;
  notes.push_back("of " + counted(crowd.annotations.size(), "box", "boxes") + ", " + std::to_string(outside) +
                  " outside the image and " + std::to_string(leaving) +
                  " across its edge; they are used as drawn. `validate --fix` clips and drops them");
}

Work load(const Flags& flags, const ReadOptions& reading, Progress& progress) {
  Work work;
  progress.live("reading " + flags.labels[0]);
  work.crowd = read_crowd(flags.labels, reading);
  if (work.crowd.images.empty()) {
    throw DataError(flags.labels[0] + ": expected images, found none; there is nothing to aggregate");
  }
  if (work.crowd.annotators.empty()) {
    throw DataError(flags.labels[0] + ": the labels have no annotators; aggregation needs to know who drew what");
  }
  if (work.crowd.classes.empty()) {
    throw DataError(flags.labels[0] + ": expected classes, found none; boxes without a class cannot be aggregated");
  }
  tell_boxes_outside(work.crowd, work.notes);
  if (!flags.truth.empty()) (void)attach_truth(work.crowd, flags.truth);
  if (work.crowd.has_truth) work.evaluated.assign(work.crowd.truth_covers.begin(), work.crowd.truth_covers.end());
  if (!flags.predictions.empty()) work.predictions = predictions_for(work.crowd, flags.predictions);
  if (!flags.prior.empty()) work.prior = prior_for(work.crowd, flags.prior, work.notes);
  if (!flags.decisions.empty()) {
    work.decisions = read_decisions(flags.decisions, work.crowd);
    for (const std::string& one : work.decisions->contradictions) {
      work.notes.push_back("contradiction, so that neither counts: " + one);
    }
  }
  return work;
}

std::string digest_of(const std::optional<Decisions>& decisions) {
  if (!decisions) return "none";
  Checksum sum;
  for (const Decision& d : decisions->list) {
    const std::int32_t numbers[] = {d.image, d.label, d.object ? 1 : 0, d.place ? 1 : 0};
    sum.add(numbers, sizeof(numbers));
    sum.add(&d.box, sizeof(Box));
    sum.add(&d.at(), sizeof(Box));
  }
  return "digest " + sum.text();
}

/// What must be the same in all ranks.
std::vector<Fact> facts_of(const Flags& flags, const Work& work) {
  std::vector<std::string> options = flags.options;
  std::sort(options.begin(), options.end());
  Checksum predictions;
  if (work.predictions) {
    const Predictions& p = *work.predictions;
    predictions.add(p.box.data(), p.box.size() * sizeof(Box));
    predictions.add(p.score.data(), p.score.size() * sizeof(double));
    predictions.add(p.class_probs.data(), p.class_probs.size() * sizeof(double));
    predictions.add(p.begin.data(), p.begin.size() * sizeof(std::size_t));
  }
  std::ostringstream prior;
  if (work.prior) write_annotator_posteriors(prior, *work.prior);
  return {{"version of bdc-host", BDC_VERSION},
          {"method", flags.method + (options.empty() ? "" : ", " + join(options))},
          {"set of labels", labels_digest(work.crowd)},
          {"set of predictions", work.predictions ? "digest " + predictions.text() : "none"},
          {"prior", prior.str()},
          {"set of decisions", digest_of(work.decisions)}};
}

FitInput input_for(const Work& work, const Flags& flags, const std::string& label, Progress& progress) {
  FitInput input;
  input.crowd = &work.crowd;
  if (work.predictions) input.predictions = &*work.predictions;
  if (work.prior) input.prior = &*work.prior;
  input.threads = flags.threads;
  input.progress = [label, &progress](const bdc::Progress& p) {
    progress.live(label + (p.max_rounds > 0
                               ? "  round " + std::to_string(p.round) + " (at most " + std::to_string(p.max_rounds) +
                                     ")  change " + fixed(p.change * 100, 4) + " %"
                               : "  image " + std::to_string(p.images_done) + "/" + std::to_string(p.images)));
  };
  return input;
}

std::string percent(double share) {
  return share < 0 || std::isnan(share) ? "-" : fixed(100 * share, 1);
}

/// Writes what is strong enough of the consensus, and says what was cut and what the format cannot hold.
void write_output(const Flags& flags, const Targets& targets, const Work& work) {
  ConsensusOptions options = flags.consensus;
  if (flags.labels.size() == 1) use_names_of_export(flags.labels[0], options);
  const bool cuts = flags.min_existence > 0 || flags.min_score > 0;
  ConsensusCut cut;
  const Targets kept = cuts ? strong_targets(targets, flags.min_existence, flags.min_score, &cut) : Targets();
  const WriteReport report = write_consensus(cuts ? kept : targets, work.crowd, flags.output, options);
  if (cuts) {
    std::cerr << "written: " << cut.kept << " of " << counted(targets.box.size(), "object")
              << "; cut: " << cut.below_existence << " with an existence below " << flags.min_existence
              << " (--min-existence), " << cut.below_score << " with a score below " << flags.min_score
              << " (--min-score)\n";
  }
  if (!report.losses.empty()) std::cerr << "note: the format " << options.format << " cannot hold\n" << report.text();
}

/// Every method, with every choice of the option it is compared by, judged against the truth.
int compare_all(const Flags& flags, const Work& work, Progress& progress) {
  if (!work.crowd.has_truth) throw UserError(ExitCode::usage, "--method all compares with the truth: add --truth FILE");
  struct Row {
    std::string name;
    std::map<std::string, std::string> options;
  };
  std::vector<Row> rows;
  for (const MethodInfo& method : methods()) {
    if (method.compared_by.empty()) rows.push_back({method.name, {}});
    for (const OptionSpec& option : method.options) {
      if (option.name != method.compared_by) continue;
      for (const std::string& choice : option.choices) rows.push_back({method.name, {{option.name, choice}}});
    }
  }
  Table table({"method", "AP50", "AP75", "AP", "objects", "seconds"});
  for (std::size_t c = 1; c < 6; ++c) table.align_right(c);
  Json json = Json::array();
  std::vector<std::string> warnings;
  for (const auto& row : rows) {
    const std::string label = row.name + (row.options.empty() ? "" : " " + row.options.begin()->second);
    const double started = now_seconds();
    const FitResult result = method_for(row.name, row.options)->fit(input_for(work, flags, label, progress));
    const double seconds = now_seconds() - started;
    const CocoEvalResult judged = evaluate_targets(result.targets, work.crowd, {}, work.evaluated);
    table.add({label, percent(judged.stats[1]), percent(judged.stats[2]), percent(judged.stats[0]),
               std::to_string(result.targets.box.size()), fixed(seconds, 2)});
    json.push_back({{"method", label},
                    {"AP50", judged.stats[1]},
                    {"AP75", judged.stats[2]},
                    {"AP", judged.stats[0]},
                    {"objects", result.targets.box.size()},
                    {"seconds", seconds}});
    for (const auto& warning : result.warnings) warnings.push_back(label + ": " + warning);
  }
  progress.finish();
  if (flags.json) {
    std::cout << json.dump(2) << "\n";
  } else {
    table.print(std::cout);
  }
  for (const auto& warning : warnings) std::cerr << "note: " << warning << "\n";
  return 0;
}

double expected_objects(const Targets& targets) {
  double sum = 0;
  for (const double e : targets.existence.empty() ? targets.weight : targets.existence) sum += std::fmin(e, 1.0);
  return sum;
}

Json summary(const Work& work, const FitResult& result, const Agreement& agreement, double seconds) {
  const auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); };
  Json out = {{"images", work.crowd.images.size()},
              {"classes", work.crowd.classes.size()},
              {"annotators", work.crowd.annotators.size()},
              {"annotations", work.crowd.annotations.size()},
              {"targets", result.targets.box.size()},
              {"expected_objects", expected_objects(result.targets)},
              {"rounds", result.rounds},
              {"converged", result.converged},
              {"class_alpha", number(agreement.class_alpha)},
              {"mean_pairwise_iou", number(agreement.mean_pairwise_iou)},
              {"seconds", seconds}};
  if (work.crowd.has_truth) {
    const auto judged = evaluate_targets(result.targets, work.crowd, {}, work.evaluated);
    const auto calibration = calibrate_targets(result.targets, work.crowd, 0.5, 15, work.evaluated, kErrorResamples);
    out["AP"] = judged.stats[0];
    out["AP50"] = judged.stats[1];
    out["AP75"] = judged.stats[2];
    const auto add = [&](const std::string& what, const Calibration& c) {
      out[what + "_calibration_error"] = c.expected_error;
      out[what + "_calibration_error_interval"] = {c.error_low, c.error_high};
    };
    add("class", calibration.classes);
    add("existence", calibration.existence);
    add("located", calibration.located);
  }
  return out;
}

void print_summary(const Json& s) {
  const auto text = [&](const char* key, int decimals) {
    return s[key].is_null() ? std::string("-") : fixed(s[key].get<double>(), decimals);
  };
  const auto count = [&](const char* key, const std::string& what) {
    return s[key].dump() + " " + what + (s[key] == 1 ? "" : "s");
  };
  std::cout << count("images", "image") << ", " << count("annotators", "annotator") << ", "
            << count("annotations", "annotation") << "\n"
            << count("targets", "target") << ", " << text("expected_objects", 1) << " objects expected";
  if (s["rounds"].get<int>() > 0)
    std::cout << " (" << count("rounds", "round") << ", "
              << (s["converged"].get<bool>() ? "converged" : "NOT converged") << ")";
  std::cout << "\nagreement: class alpha " << text("class_alpha", 3) << ", mean IoU of boxes on the same object "
            << text("mean_pairwise_iou", 3) << "\n";
  if (s.contains("AP")) {
    std::cout << "against the truth: AP50 " << percent(s["AP50"]) << ", AP75 " << percent(s["AP75"]) << ", AP "
              << percent(s["AP"]) << "\n";
    const auto error = [&](const std::string& key) {
      const Json& interval = s[key + "_interval"];
      return percent(s[key]) + " % (" + percent(interval[0]) + " to " + percent(interval[1]) + ")";
    };
    std::cout << "calibration error, 90 % interval in brackets: "
              << (s["classes"] > 1 ? "classes " + error("class_calibration_error") + ", " : "") << "existence "
              << error("existence_calibration_error") << ", located " << error("located_calibration_error") << "\n";
  }
}

void list_options(const std::vector<OptionSpec>& options) {
  for (const OptionSpec& o : options) {
    const std::string range = range_text(o);
    std::cout << "    " << o.name << "=" << option_text(o.default_value) << "  " << o.help
              << (range.empty() ? "" : " (" + range + ")") << "\n";
  }
}

int list_methods() {
  for (const auto& method : methods()) {
    std::cout << method.name << ": " << method.description << "\n";
    list_options(method.options);
  }
  for (const LearnerEntry& learner : learners()) {
    if (learner.info.profile_of.empty()) continue;
    std::cout << learner.info.profile_of << " profile=" << learner.info.name << ": " << learner.info.description
              << "\n";
    list_options(learner.info.options);
  }
  return 0;
}

/// A method that does not estimate existence cannot cut by it.
void check_existence(const Flags& flags, const std::map<std::string, std::string>& options) {
  const LearnerInfo& chosen = chosen_learner(flags.method, options).info;
  if (flags.min_existence == 0 || chosen.traits.knows_existence) return;
  const auto estimates = [](const LearnerEntry& entry) { return entry.info.traits.knows_existence; };
  const LearnerInfo& other = std::find_if(learners().begin(), learners().end(), estimates)->info;
  const bool same_method = !chosen.profile_of.empty() && chosen.profile_of == other.profile_of;
  throw UserError(ExitCode::usage, "--min-existence: " + chosen.name + " does not estimate existence; use " +
                                       (same_method || other.profile_of.empty() ? other.name : other.profile_of));
}

/// What can be said of the command line before anything is read.
void check(const Flags& flags, const ReadOptions& reading) {
  if (flags.labels.empty()) throw UserError(ExitCode::usage, "aggregate: no labels given; see --help");
  std::vector<std::string> inputs = flags.labels;
  inputs.insert(inputs.end(), {flags.predictions, flags.prior, flags.truth});
  for (const std::string& file : files_of(reading)) inputs.push_back(file);
  require_no_folders({flags.annotators});
  require_other_truth(flags.labels, flags.truth);
  inputs.insert(inputs.end(), flags.decisions.begin(), flags.decisions.end());
  check_outputs(inputs, {flags.output, flags.annotators});
  keep_others_files({flags.output, flags.annotators}, flags.force);
  if (flags.output.empty() && flags.consensus.format != ConsensusOptions().format) {
    throw UserError(ExitCode::usage, "--output-format " + flags.consensus.format + " writes nothing without --output");
  }
  const auto options = option_map(flags.options);
  if (flags.method != "all") {
    (void)method_for(flags.method, options);
    return check_existence(flags, options);
  }
  if (!options.empty() || !flags.output.empty() || !flags.annotators.empty()) {
    throw UserError(ExitCode::usage, "--method all only compares; leave out --option, --output and --annotators");
  }
  if (!flags.decisions.empty()) {
    throw UserError(ExitCode::usage, "--decisions goes with one method; leave out --method all");
  }
}

std::string text_of(const SettledFit& settled, const std::string& method) {
  return "decided: " + counted(settled.objects, "object") + " and " + counted(settled.nothing, "place") +
         " without one; " + counted(settled.labels, "label") + " stood there" +
         (settled.taught ? std::string() : "; the method '" + method + "' learns nothing about people from it");
}

struct Fitted {
  Work work;
  FitResult result;
  double seconds = 0;
};

/// Reads the labels and fits them, together with the other ranks where there are any.
Fitted fit_as_rank(Flags flags, const ReadOptions& reading, const Launch& launch, Progress& progress) {
  Fitted out;
  const auto ranks = ranks_of(launch, flags.timeout);
  if (!ranks->is_alone()) progress.line(description_of(launch));
  if (flags.threads == 0) flags.threads = std::max(1, default_threads() / launch.local_size);
  run_as_rank(*ranks, [&] {
    do_together(*ranks, [&] { out.work = load(flags, reading, progress); });
    if (!ranks->is_alone()) require_agreement(*ranks, facts_of(flags, out.work));
    const double started = now_seconds();
    FitInput input = input_for(out.work, flags, flags.method, progress);
    input.ranks = ranks.get();
    const auto method = method_for(flags.method, option_map(flags.options));
    if (out.work.decisions) {
      SettledFit settled = fit_with_decisions(*method, input, *out.work.decisions);
      out.result = std::move(settled.result);
      out.work.notes.push_back(text_of(settled, flags.method));
    } else {
      out.result = method->fit(input);
    }
    out.seconds = now_seconds() - started;
  });
  return out;
}

int aggregate(Flags flags, const ReadOptions& reading) {
  if (flags.list) return list_methods();
  const Launch launch = launch_of(flags.processes);
  if (launch.rank > 0) {  // rank 0 talks and writes for all
    flags.quiet = true;
    flags.json = false;
  } else {
    check(flags, reading);
  }
  const bool several = flags.processes > 1 || !launch.is_alone();
  if (several && flags.method == "all") {
    throw UserError(ExitCode::usage, "--method all compares in one process; leave out --processes and launchers");
  }
  if (starts_ranks(flags.processes, launch)) {
    require_engine();
    return run_local_ranks(flags.processes, flags.threads);
  }
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  if (flags.method == "all") return compare_all(flags, load(flags, reading, progress), progress);
  const Fitted fitted = fit_as_rank(flags, reading, launch, progress);
  const Work& work = fitted.work;
  const FitResult& result = fitted.result;
  if (launch.rank > 0) return 0;
  if (!flags.annotators.empty() && !result.posteriors) {
    throw UserError(ExitCode::usage, "--annotators: the method '" + flags.method +
                                         "' learns nothing about annotators; use --method bdc");
  }
  if (!flags.output.empty()) write_output(flags, result.targets, work);
  if (!flags.annotators.empty()) {
    AtomicFile out(flags.annotators);
    write_annotator_posteriors(out.stream(), *result.posteriors);
    out.commit();
  }
  progress.finish();
  print_notes(reading);
  for (const auto& note : work.notes) std::cerr << "note: " << note << "\n";
  for (const auto& warning : result.warnings) std::cerr << "note: " << warning << "\n";
  if (flags.quiet && !flags.json) return 0;
  const Json s =
      summary(work, result, measure_agreement(work.crowd, nullptr, 0.45, 0.5, flags.threads), fitted.seconds);
  if (flags.json) {
    std::cout << s.dump(2) << "\n";
    return 0;
  }
  print_summary(s);
  if (result.posteriors) {
    std::cout << "\n";
    print_annotators(std::cout, *result.posteriors, 5);
  }
  if (!flags.output.empty()) std::cout << "\nconsensus: " << flags.output << "\n";
  if (!flags.annotators.empty()) std::cout << "annotators: " << flags.annotators << "\n";
  return 0;
}

}  // namespace

void add_aggregate(Command& program) {
  Command verb = program.add_verb("aggregate", "Combine many annotators' labels into one consensus");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("labels", flags->labels, "files or folders of one format").type_name("PATH");
  verb.add_option("-m,--method", flags->method, "bdc, crowd_rcnn, mv, wbf, ... or all, to compare them (see --methods)")
      .type_name("NAME")
      .show_default();
  verb.add_option("--option", flags->options, "a setting of the method; may be repeated")
      .type_name("KEY=VALUE")
      .repeated();
  verb.add_option("-o,--output", flags->output, "write the consensus here").type_name("PATH");
  verb.add_option("--output-format", flags->consensus.format,
                  "coco, crowd, cvat, datumaro, fiftyone, label-studio, yolo, yolo-scores or voc")
      .type_name("NAME")
      .show_default()
      .one_of([] {
        std::vector<std::string> names;
        for (const ConsensusFormatInfo& format : consensus_formats()) names.emplace_back(format.name);
        return names;
      }());
  verb.add_option("--min-existence", flags->min_existence, "write only objects that are real with this probability")
      .range(0.0, 1.0);
  verb.add_option("--min-score", flags->min_score, "write only objects with at least this score").range(0.0, 1.0);
  verb.add_option("--annotators", flags->annotators, "write what was learnt about the annotators here")
      .type_name("FILE");
  verb.add_option("--predictions", flags->predictions, "a detector's results on the same images").type_name("FILE");
  verb.add_option("--prior", flags->prior, "annotators of an earlier project").type_name("FILE");
  verb.add_option("--decisions", flags->decisions, "what the report's page saved: a trusted person's word; repeatable")
      .type_name("FILE")
      .repeated();
  verb.add_option("--truth", flags->truth, "true boxes, only to evaluate the result").type_name("FILE");
  verb.add_option("--threads", flags->threads, "0: all cores; the result is the same").range(0, 1024);
  add_processes_option(verb, flags->processes);
  verb.add_option("--timeout", flags->timeout, "longest that processes wait for one another, seconds")
      .range(1.0, 1e6)
      .show_default();
  verb.add_flag("--methods", flags->list, "list methods and their settings");
  verb.add_flag("-q,--quiet", flags->quiet, "no progress, no tables");
  verb.add_flag("--json", flags->json, "print the summary as JSON");
  verb.add_flag("--force", flags->force, "replace files that are not marked as bdc-host's own");
  const auto reading = add_label_options(verb);
  verb.footer(
      "Example:\n"
      "  bdc-host aggregate crowd.json -o consensus.xml --output-format cvat --min-existence 0.5");
  verb.run([=] { return aggregate(*flags, *reading); });
}

}  // namespace bdc::host
