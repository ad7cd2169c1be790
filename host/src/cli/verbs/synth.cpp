#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "bdc/base/atomic_file.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/crowd_io.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/label_options.h"
#include "files/json_file.h"
#include "files/outputs.h"
#include "show/progress.h"
#include "synth/group_table.h"
#include "synth/simulate.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

struct Flags {
  std::string truth, preset, config, output, parameters, write_truth, write_images, images, networks;
  std::vector<std::string> detectors;
  ReadOptions reading;  ///< of the truth
  double min_score = 0.5;
  ShapesSettings shapes;
  std::uint64_t seed = 1;
  int threads = 0;
  bool use_shapes = false, with_truth = false, network = false, quiet = false, force = false;
};

CrowdSpec spec_of(const Flags& flags) {
  if (!flags.preset.empty() && !flags.config.empty()) {
    throw UserError(ExitCode::usage, "--preset and --config both define a crowd; a config can name a preset itself");
  }
  CrowdSpec spec;
  if (!flags.config.empty()) {
    spec = parse_crowd_spec(read_json_file(flags.config), flags.config);
  } else if (!flags.preset.empty()) {
    spec = crowd_preset(flags.preset);
  }
  for (const std::string& text : flags.detectors) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      throw UserError(ExitCode::usage, "--detector " + printable(text) + ": expected NAME=FILE");
    }
    spec.detectors.push_back({text.substr(0, equals), text.substr(equals + 1), flags.min_score, 1});
  }
  if (spec.groups.empty() && spec.detectors.empty()) {
    throw UserError(ExitCode::usage, "no crowd given; use --preset (" + join(crowd_presets()) +
                                         "), --config FILE or --detector NAME=FILE");
  }
  if (const std::string twice = name_given_twice(spec); !twice.empty()) {
    throw UserError(ExitCode::usage, "--detector " + printable(twice) +
                                         ": another annotator of the crowd has that name; choose another");
  }
  if (flags.network) {
    if (spec.groups.empty()) throw UserError(ExitCode::usage, "--network: detectors alone need no networks");
    use_networks(spec, flags.config);
  }
  const auto by_network = [](const GroupSpec& g) { return g.network; };
  if (!spec.networks.empty() && std::none_of(spec.groups.begin(), spec.groups.end(), by_network)) {
    throw UserError(ExitCode::config, flags.config +
                                          ": networks: no group annotates with networks; say \"kind\": \"network\" or "
                                          "--network, or leave them out");
  }
  return spec;
}

/// Throws unless the folder is new or empty.
void check_new_folder(const std::string& folder) {
  std::error_code ignored;
  if (folder.empty() || !fs::exists(folder, ignored)) return;
  if (!fs::is_directory(folder, ignored)) {
    throw UserError(ExitCode::usage, folder + ": expected a folder for images, found a file");
  }
  if (!fs::is_empty(folder, ignored)) {
    throw UserError(ExitCode::usage, folder + ": is not empty; give a new folder for the images (nothing was changed)");
  }
}

/// Throws for what was asked of networks that the crowd does not have, or not asked of those it has.
void check_network_flags(const Flags& flags, const CrowdSpec& spec) {
  std::error_code ignored;
  if (fs::exists(flags.networks, ignored) && !fs::is_directory(flags.networks, ignored)) {
    throw UserError(ExitCode::usage, flags.networks + ": expected a folder for networks, found a file");
  }
  const bool used = !spec.network_skills().empty();
  for (const auto& [name, value] : {std::pair{"--images", flags.images}, {"--networks", flags.networks}}) {
    if (value.empty() || used) continue;
    throw UserError(ExitCode::usage, std::string(name) +
                                         ": no annotator of this crowd has networks to train; leave it "
                                         "out, or add --network");
  }
  if (used && flags.use_shapes && !flags.images.empty()) {
    throw UserError(ExitCode::usage, "--images: --shapes has images of its own");
  }
  if (used && !flags.use_shapes && flags.images.empty()) {
    throw UserError(ExitCode::usage, "annotators with networks need the images; give their folder with --images");
  }
}

/// Pictures of the built-in images: all of them or none.
void write_images(const ShapesSettings& shapes, const std::string& folder, int threads) {
  AtomicFolder writing(folder);
  open_engine().write_shapes(shapes, writing.path(), threads);
  writing.commit();
}

SkillSources sources_of(const Flags& flags, const CrowdSpec& spec, CrowdData& truth, Progress& progress) {
  NetworkCrowdRequest request;
  if (flags.use_shapes) request.shapes = flags.shapes;
  request.images = flags.images;
  request.size = flags.use_shapes ? "small" : "published";
  request.folder = flags.networks;
  request.seed = flags.seed;
  request.threads = flags.threads;
  return open_engine().train_networks(spec, truth, request, progress);
}

/// Whether a file is what --parameters wrote earlier.
bool is_parameters_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string start(200, ' ');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return start.find("\"bdc_true_annotators\"") != std::string::npos;
}

int synth(const Flags& flags) {
  if (flags.truth.empty() != flags.use_shapes) {
    throw UserError(ExitCode::usage, "give the truth to annotate or --shapes N for built-in images, one of the two");
  }
  const CrowdSpec spec = spec_of(flags);
  check_network_flags(flags, spec);
  check_new_folder(flags.write_images);
  std::vector<std::string> inputs = {flags.truth, flags.config};
  for (const auto& detector : spec.detectors) inputs.push_back(detector.file);
  require_no_folders({flags.output, flags.parameters, flags.write_truth});
  check_outputs(inputs, {flags.output, flags.parameters, flags.write_truth, flags.networks, flags.write_images});
  keep_others_files({flags.output, flags.parameters, flags.write_truth}, flags.force, is_parameters_file);
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  CrowdData labels;
  if (flags.use_shapes) {
    labels = open_engine().shapes_labels(flags.shapes);
  } else {
    progress.live("reading " + flags.truth);
    labels = read_crowd({flags.truth}, flags.reading);
    print_notes(flags.reading);
  }
  if (labels.images.empty())
    throw DataError(flags.truth + ": expected images, found none; there is nothing to annotate");
  if (spec.empty_share > 0) {
    for (const auto& [name, given] : {std::pair{"--write-images", !flags.write_images.empty()},
                                      {"annotators with networks", !spec.network_skills().empty()}}) {
      if (given) {
        throw UserError(ExitCode::usage,
                        std::string(name) + ": this crowd has images without objects, of which there are no pictures");
      }
    }
    (void)add_empty_images(labels, spec.empty_share);
  }
  SkillSources sources;
  if (!spec.network_skills().empty()) {
    CrowdSpec others = spec;  // what is wrong with them is said before networks are trained
    others.groups.clear();
    (void)make_members(others, labels, flags.seed);
    sources = sources_of(flags, spec, labels, progress);
  }
  progress.live("simulating");
  const auto members = make_members(spec, labels, flags.seed, sources);
  const auto drawn_for = simulate_crowd(labels, members, {flags.seed, spec.cover_all, flags.threads});
  progress.live("writing images");
  if (!flags.write_images.empty()) write_images(flags.shapes, flags.write_images, flags.threads);
  if (!flags.write_truth.empty()) write_truth(labels, flags.write_truth);
  progress.finish();
  if (!flags.quiet) {
    for (const CrowdMember& member : members) {
      for (const std::string& note : member.notes) std::cerr << "note: " << note << "\n";
    }
    std::cout << labels.images.size() << " images, " << labels.annotators.size() << " annotators, "
              << labels.assignments.size() << " assignments, " << labels.annotations.size() << " boxes\n";
    print_groups(std::cout, labels, members, drawn_for);
  }
  if (!flags.parameters.empty()) {
    const Json json = true_annotators(spec, members, labels, drawn_for, flags.seed, sources);
    write_file_atomically(flags.parameters, json.dump(1) + "\n");
  }
  if (!flags.with_truth) {
    labels.truth.clear();
    labels.truth_covers.clear();
    labels.has_truth = false;
    labels.finalize();
  }
  (void)write_crowd(labels, flags.output, "crowd");
  if (!flags.quiet) std::cout << "crowd: " << flags.output << "\n";
  return 0;
}

/// For --seed: "" or what is wrong with it.
std::string seed_problem(const std::string& text) {
  const bool whole = !text.empty() && text.size() <= 19 && text.find_first_not_of("0123456789") == std::string::npos;
  if (whole && std::stoull(text) <= static_cast<unsigned long long>(INT64_MAX)) return "";
  return "expected a whole number from 0 to " + std::to_string(INT64_MAX) + ", found the " +
         (parse_real(text) ? "number " + printable(text) : "string " + in_quotes(text));
}

/// Throws for options that would do nothing.
void check_useful(const Command& verb, bool shapes) {
  const auto refuse = [&](const char* option, const std::string& why) {
    if (verb.given(option)) throw UserError(ExitCode::usage, std::string(option) + ": " + why);
  };
  if (shapes) {
    for (const char* option : {"--format", "--sizes", "--image-folder", "--class-names", "--voc-one-based"}) {
      refuse(option, "is for reading a truth; --shapes makes its own");
    }
  } else {
    for (const char* option : {"--classes", "--size", "--write-images"}) {
      refuse(option, "is for built-in images; it needs --shapes N");
    }
  }
  if (!verb.given("--detector")) {
    refuse("--min-score", "is for --detector; a detector of a config has a \"min_score\" of its own");
  }
}

/// "folder/" is "folder".
void strip_slash(std::string& folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
}

}  // namespace

void add_synth(Command& program) {
  Command verb = program.add_verb("synth", "Simulate a crowd that annotates known boxes");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("truth", flags->truth, "true boxes (COCO, or any label format)").type_name("FILE");
  verb.add_option("-o,--output", flags->output, "the crowd's labels, with assignments").required().type_name("FILE");
  verb.add_option("--preset", flags->preset, join(crowd_presets())).type_name("NAME");
  verb.add_option("-c,--config", flags->config, "any mix of annotators (docs/synth.md)").type_name("FILE");
  verb.add_flag("--network", flags->network, "annotators draw with trained networks, as in the paper");
  verb.add_option("--images", flags->images, "folder of the truth's images, for networks").type_name("DIR");
  verb.add_option("--networks", flags->networks, "keep trained networks here and reuse those that are there")
      .type_name("DIR");
  verb.add_option("--detector", flags->detectors, "COCO results as one more annotator; may be repeated")
      .type_name("NAME=FILE")
      .repeated();
  verb.add_option("--min-score", flags->min_score, "lowest score of --detector's results [0.5]").range(0.0, 1.0);
  verb.add_option("--parameters", flags->parameters, "write the annotators' true parameters here").type_name("FILE");
  verb.add_option("--seed", flags->seed, "seed of the crowd").show_default().check(seed_problem);
  verb.add_flag("--with-truth", flags->with_truth, "keep the true boxes in the labels, for reports");
  const Option shapes = verb.add_option("--shapes", flags->shapes.images, "annotate this many built-in images")
                            .type_name("N")
                            .range(1, 1000000);
  verb.add_option("--classes", flags->shapes.classes, "classes of the built-in images [4]")
      .range(std::int64_t{1}, kShapeClasses);
  verb.add_option("--size", flags->shapes.size, "size of the built-in images, pixels [96]").range(32, 4096);
  verb.add_option("--write-truth", flags->write_truth, "write the true boxes here (COCO)").type_name("FILE");
  verb.add_option("--write-images", flags->write_images, "write the built-in images into this new folder")
      .type_name("DIR");
  const auto reading = add_truth_options(verb);
  verb.add_option("--threads", flags->threads, "0: all cores; what is drawn is the same").range(0, 1024);
  verb.add_flag("-q,--quiet", flags->quiet, "print nothing");
  verb.add_flag("--force", flags->force, "replace files that are not marked as bdc-host's own");
  verb.footer(
      "Examples:\n"
      "  bdc-host synth instances_train2017.json --preset coco-mix -o crowd.json --parameters true.json\n"
      "  bdc-host synth --shapes 400 --network --preset voc-mix -o crowd.json --networks networks/");
  verb.run([=] {
    flags->use_shapes = shapes.given();
    flags->shapes.seed = flags->seed;
    flags->reading = *reading;
    strip_slash(flags->networks);
    strip_slash(flags->write_images);
    check_useful(verb, flags->use_shapes);
    return synth(*flags);
  });
}

}  // namespace bdc::host
