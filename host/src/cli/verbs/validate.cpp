#include "bdc/crowd/validate.h"

#include <filesystem>
#include <iostream>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "cli/verb.h"
#include "cli/verbs/label_options.h"
#include "files/outputs.h"

namespace bdc::host {
namespace {

struct Flags {
  std::vector<std::string> paths;
  std::string fixed_file;
  bool json = false, force = false;
  ValidateOptions checks;
};

bool is_in_place(const Flags& flags) {
  std::error_code ignored;
  return flags.paths.size() == 1 && std::filesystem::equivalent(flags.paths[0], flags.fixed_file, ignored);
}

/// Whether the only annotator is the one that a file without any stands for.
bool is_named_by_file(const CrowdData& data, const std::string& file) {
  return data.annotators.size() == 1 && data.annotators[0].id.text == std::filesystem::path(file).stem().string();
}

int validate(const Flags& flags, const ReadOptions& reading) {
  if (!flags.fixed_file.empty() && !extension_tells_format(flags.fixed_file)) {
    throw UserError(ExitCode::usage, "--fix writes a .json (crowd) or .csv (VinDr-CXR) file, found '" +
                                         printable(flags.fixed_file) + "'; `convert` turns it into other formats");
  }
  require_no_folders({flags.fixed_file});
  // One file may be mended in its place; of several each is read, and the written one holds them all.
  check_outputs(flags.paths.size() == 1 ? folders_of(flags.paths) : flags.paths, {flags.fixed_file});
  if (!is_in_place(flags)) keep_others_files({flags.fixed_file}, flags.force);
  CrowdData data;
  const ValidationReport report = validate_crowd(flags.paths, reading, flags.checks, &data);
  print_notes(reading);
  std::cout << (flags.json ? report.json() : report.text());
  if (flags.json) std::cout << "\n";
  const bool nothing_to_fix = report.problems.entry(ProblemKind::no_images).count > 0;
  if (flags.fixed_file.empty() || nothing_to_fix)
    return static_cast<int>(report.errors() > 0 ? ExitCode::data : ExitCode::ok);
  if (is_in_place(flags) && reading.annotator.empty() && is_named_by_file(data, flags.fixed_file)) {
    throw UserError(
        ExitCode::usage,
        flags.fixed_file +
            ": names no annotators; fixed in place it would become one annotator's labels and lose its true boxes. "
            "Write to another file, or say who drew with --annotator NAME (nothing was changed)");
  }
  const FixReport fixed = fix_crowd(data, &report, flags.checks);
  const WriteReport written = write_crowd(data, flags.fixed_file);
  std::cerr << fixed.text() << "wrote " << flags.fixed_file << "\n";
  if (!written.losses.empty()) std::cerr << "warning: this format cannot hold\n" << written.text();
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

void add_validate(Command& program) {
  Command verb = program.add_verb("validate", "Check labels and report what is wrong and where");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("labels", flags->paths, "files or folders of one format").required().type_name("PATH");
  verb.add_option("--fix", flags->fixed_file, "clip and drop what is wrong and write the rest here").type_name("FILE");
  verb.add_option("--examples", flags->checks.examples_per_kind, "places to show per kind of problem")
      .type_name("N")
      .range(0, 1000000);
  verb.add_flag("--json", flags->json, "as JSON");
  verb.add_flag("--force", flags->force, "let --fix replace a file that is not marked as bdc-host's own");
  const auto reading = add_label_options(verb);
  verb.footer("Exit code: 0 no errors (there may be warnings), 4 errors.\n" + format_lines("Formats") +
              "\nExample:\n  bdc-host validate crowd.json --fix clean.json");
  verb.run([=] { return validate(*flags, *reading); });
}

}  // namespace bdc::host
