#include <filesystem>
#include <iostream>

#include "app/user_error.h"
#include "app/verb.h"
#include "bdc/core/io/coco.h"
#include "bdc/core/io/crowd_io.h"
#include "bdc/core/metrics/measured_annotators.h"
#include "bdc/core/parallel.h"
#include "config/json_file.h"
#include "console/progress.h"
#include "data/cached_data.h"
#include "data/image_folder_data.h"
#include "files/outputs.h"
#include "networks/network_sources.h"
#include "pictures/picture.h"
#include "shapes/shapes.h"
#include "synth/drawn_quality.h"
#include "synth/simulate.h"
#include "text/nearest.h"
#include "text/table.h"

namespace bdc::host {
namespace {

constexpr std::int64_t kImagesInMemory = std::int64_t{2} << 30;

struct Flags {
  std::string truth, preset, config, output, parameters, write_truth, write_images, images, networks;
  std::vector<std::string> detectors;
  double min_score = 0.5;
  ShapesSettings shapes;
  std::uint64_t seed = 1;
  int threads = 0;
  bool use_shapes = false, with_truth = false, network = false, quiet = false;
};

CrowdSpec spec_of(const Flags& flags) {
  if (!flags.preset.empty() && !flags.config.empty()) {
    throw UserError(ExitCode::usage, "--preset and --config both name a crowd; a config can name a preset itself");
  }
  CrowdSpec spec;
  if (!flags.config.empty()) {
    spec = parse_crowd_spec(read_json_file(flags.config), flags.config);
  } else if (!flags.preset.empty()) {
    spec = crowd_preset(flags.preset);
  }
  for (const std::string& text : flags.detectors) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UserError(ExitCode::usage, "--detector " + printable(text) + ": expected NAME=FILE");
    }
    spec.detectors.push_back({text.substr(0, equals), text.substr(equals + 1), flags.min_score, 1});
  }
  if (spec.groups.empty() && spec.detectors.empty()) {
    throw UserError(ExitCode::usage, "no crowd was named; use --preset (" + join(crowd_presets()) +
                                         "), --config FILE or --detector NAME=FILE");
  }
  if (flags.network) use_networks(spec, flags.config);
  return spec;
}

void write_images(const ShapesData& shapes, const std::string& folder, int threads) {
  const auto path = [&](std::size_t i) { return std::filesystem::path(folder) / shapes.labels().images[i].file; };
  for (std::size_t i = 0; i < shapes.labels().images.size(); ++i) {
    std::filesystem::create_directories(path(i).parent_path());
  }
  parallel_chunks(static_cast<std::size_t>(shapes.size()), 16, threads,
                  [&](std::size_t begin, std::size_t end, std::size_t) {
                    for (std::size_t i = begin; i < end; ++i) {
                      write_picture(path(i), shapes.image(static_cast<std::int64_t>(i)));
                    }
                  });
}

/// Whoever sees pictures gets them: the built-in ones, or the folder's.
std::shared_ptr<const Dataset> open_images(const Flags& flags, const CrowdData& truth) {
  if (flags.use_shapes) return std::make_shared<ShapesData>(flags.shapes);
  const auto files = std::make_shared<ImageFolderData>(truth, ImageFolderSettings{flags.images, true, {}});
  return std::make_shared<CachedData>(files, kImagesInMemory);
}

SkillSources sources_of(const Flags& flags, const CrowdSpec& spec, const Dataset& data, Progress& progress) {
  NetworkRun run;
  run.size = flags.use_shapes ? "small" : "published";
  run.folder = flags.networks;
  run.seed = flags.seed;
  run.threads = flags.threads;
  run.progress = {[&](const std::string& text) { progress.line(text); },
                  [&](const std::string& text) { progress.live(text); }};
  return network_sources(spec, data, run);
}

/// What came out, group by group, measured against the truth.
void print_groups(const CrowdData& crowd, const std::vector<CrowdMember>& members,
                  const std::vector<std::int32_t>& drawn_for) {
  const auto measured = measure_annotators(crowd);
  const auto drawn = measure_drawings(crowd, drawn_for);
  Table table({"skill", "annotators", "images each", "boxes", "recall", "spurious/image", "class accuracy", "box noise",
               "box IoU"});
  for (std::size_t c = 1; c < 9; ++c) table.align_right(c);
  for (std::size_t from = 0; from < members.size();) {
    std::size_t to = from;
    MeasuredAnnotator sum;
    double noise = 0, overlap = 0, boxes = 0;
    while (to < members.size() && members[to].self.skill == members[from].self.skill) {
      overlap += drawn[to].mean_iou * drawn[to].drawn, boxes += drawn[to].drawn;
      const MeasuredAnnotator& m = measured[to++];
      sum.images += m.images, sum.objects += m.objects, sum.boxes += m.boxes, sum.found += m.found;
      sum.right_class += m.right_class;
      noise += m.box_noise();
    }
    const auto n = static_cast<double>(to - from);
    table.add({members[from].self.skill, std::to_string(to - from), fixed(static_cast<double>(sum.images) / n, 1),
               std::to_string(sum.boxes), fixed(sum.recall(), 3), fixed(sum.spurious_per_image(), 3),
               fixed(sum.accuracy(), 3), fixed(noise / n, 3), boxes > 0 ? fixed(overlap / boxes, 3) : "-"});
    from = to;
  }
  std::cout << "Measured against the truth (boxes that overlap an object by 0.3 count as found; box IoU: of each box "
               "with the object it was drawn for):\n";
  table.print(std::cout);
}

int synth(const Flags& flags) {
  if (flags.truth.empty() != flags.use_shapes) {
    throw UserError(ExitCode::usage, "name the truth to annotate, or --shapes N for built-in images, one of the two");
  }
  if (!flags.write_images.empty() && !flags.use_shapes) {
    throw UserError(ExitCode::usage, "--write-images: only built-in images (--shapes) can be written");
  }
  const CrowdSpec spec = spec_of(flags);
  const bool needs_images = !spec.network_skills().empty();
  if (std::filesystem::exists(flags.networks) && !std::filesystem::is_directory(flags.networks)) {
    throw UserError(ExitCode::usage, flags.networks + ": expected a folder for networks, found a file");
  }
  if (needs_images && !flags.use_shapes && flags.images.empty()) {
    throw UserError(ExitCode::usage, "annotators with networks look at the images; name their folder with --images");
  }
  std::vector<std::string> inputs = {flags.truth, flags.config};
  for (const auto& detector : spec.detectors) inputs.push_back(detector.file);
  check_outputs(inputs, {flags.output, flags.parameters, flags.write_truth, flags.networks});
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  CrowdData labels;
  if (flags.use_shapes) {
    const ShapesData shapes(flags.shapes);
    labels = shapes.labels();
    progress.live("writing images");
    if (!flags.write_images.empty()) write_images(shapes, flags.write_images, flags.threads);
  } else {
    progress.live("reading " + flags.truth);
    labels = read_truth(flags.truth);
  }
  if (labels.images.empty())
    throw DataError(flags.truth + ": expected images, found none; there is nothing to annotate");
  if (!flags.write_truth.empty()) write_truth(labels, flags.write_truth);
  SkillSources sources;
  if (needs_images) {
    const auto data = open_images(flags, labels);
    labels = data->labels();  // sizes that the truth did not say are in the files
    sources = sources_of(flags, spec, *data, progress);
  }
  progress.live("simulating");
  const auto members = make_members(spec, labels, flags.seed, sources);
  const auto drawn_for = simulate_crowd(labels, members, {flags.seed, spec.cover_all, flags.threads});
  progress.finish();
  if (!flags.quiet) {
    std::cout << labels.images.size() << " images, " << labels.annotators.size() << " annotators, "
              << labels.assignments.size() << " assignments, " << labels.annotations.size() << " boxes\n";
    print_groups(labels, members, drawn_for);
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

}  // namespace

void add_synth(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("synth", "Simulate a crowd that annotates known boxes");
  const auto flags = std::make_shared<Flags>();
  verb->add_option("truth", flags->truth, "true boxes (COCO, or any label format)")->type_name("FILE");
  verb->add_option("-o,--output", flags->output, "the crowd's labels, with assignments")->required()->type_name("FILE");
  verb->add_option("--preset", flags->preset, join(crowd_presets()))->type_name("NAME");
  verb->add_option("-c,--config", flags->config, "any mix of annotators (docs/synth.md)")->type_name("FILE");
  verb->add_flag("--network", flags->network, "annotators draw with trained networks, as in the paper");
  verb->add_option("--images", flags->images, "folder of the truth's images, for networks")->type_name("DIR");
  verb->add_option("--networks", flags->networks, "keep trained networks here; those that are here are used")
      ->type_name("DIR");
  verb->add_option("--detector", flags->detectors, "COCO results as one more annotator; may be repeated")
      ->type_name("NAME=FILE")
      ->take_all()
      ->allow_extra_args(false);
  verb->add_option("--min-score", flags->min_score, "of a detector's results [0.5]")->check(CLI::Range(0.0, 1.0));
  verb->add_option("--parameters", flags->parameters, "write the annotators' true numbers here")->type_name("FILE");
  verb->add_option("--seed", flags->seed, "another seed, another crowd")->capture_default_str();
  verb->add_flag("--with-truth", flags->with_truth, "keep the true boxes in the labels, for reports");
  CLI::Option* shapes = verb->add_option("--shapes", flags->shapes.images, "annotate so many built-in images")
                            ->type_name("N")
                            ->check(CLI::Range(1, 1000000));
  verb->add_option("--classes", flags->shapes.classes, "of built-in images [4]")
      ->check(CLI::Range(std::int64_t{1}, shape_class_limit()));
  verb->add_option("--size", flags->shapes.size, "of built-in images, pixels [96]")->check(CLI::Range(32, 4096));
  verb->add_option("--write-truth", flags->write_truth, "write the true boxes here (COCO)")->type_name("FILE");
  verb->add_option("--write-images", flags->write_images, "write the built-in images here (PNG)")->type_name("DIR");
  verb->add_option("--threads", flags->threads, "0: all cores; what is drawn is the same")->check(CLI::Range(0, 1024));
  verb->add_flag("-q,--quiet", flags->quiet, "print nothing");
  verb->footer(
      "Example:\n"
      "  bdc-host synth instances_train2017.json --preset coco-mix -o crowd.json --parameters true.json\n"
      "  bdc-host synth --shapes 400 --preset voc-mix -o crowd.json --write-images images/\n"
      "  bdc-host synth --shapes 400 --network --preset voc-mix -o crowd.json --networks networks/");
  verb->callback([=, &action] {
    flags->use_shapes = shapes->count() > 0;
    flags->shapes.seed = flags->seed;
    action = [=] { return synth(*flags); };
  });
}

}  // namespace bdc::host
