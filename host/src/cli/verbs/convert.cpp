#include <filesystem>
#include <iostream>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/losses.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/label_options.h"
#include "files/outputs.h"

namespace bdc::host {
namespace {

int convert(std::vector<std::string> paths, const std::string& to, bool force, const ReadOptions& reading) {
  const std::string target = paths.back();
  paths.pop_back();
  std::vector<std::string> inputs = paths;
  for (const std::string& file : files_of(reading)) inputs.push_back(file);
  check_outputs(inputs, {target});
  keep_others_files({target}, force);
  if (to.empty() && !extension_tells_format(target)) {
    throw UserError(ExitCode::usage, "convert: the extension of '" + printable(target) +
                                         "' does not say which format to write; add --to (" + format_names(true) + ")");
  }
  ReadReport read;
  const CrowdData data = read_crowd(paths, reading, &read);
  print_notes(reading);
  const WriteReport written = write_crowd(data, target, to);
  std::cout << "read " << counted(data.images.size(), "image") << ", " << counted(data.annotations.size(), "annotation")
            << " of " << counted(data.annotators.size(), "annotator") << ", "
            << counted(data.assignments.size(), "assignment") << ", "
            << counted(data.truth.size(), "true box", "true boxes") << " (" << read.format << ")\nwrote " << target
            << "\n";
  if (!written.losses.empty()) std::cerr << "warning: the written format cannot hold\n" << written.text();
  return 0;
}

/// What each format would lose of these labels; nothing is written.
int tell_losses(const std::vector<std::string>& paths, const ReadOptions& reading) {
  const CrowdData data = read_crowd(paths, reading);
  print_notes(reading);
  for (const FormatLosses& row : losses_by_format(data, std::filesystem::temp_directory_path().string())) {
    std::cout << row.format << ":";
    if (!row.refused.empty()) {
      std::cout << " cannot be written: " << row.refused << "\n";
    } else if (row.losses.empty()) {
      std::cout << " nothing is lost\n";
    } else {
      std::cout << "\n";
      for (const Loss& loss : row.losses) std::cout << "  " << loss.text() << "\n";
    }
  }
  return 0;
}

struct WeightConversion {
  std::string from, to;
  bool float32 = false, force = false;
};

int convert_weights(const WeightConversion& request) {
  namespace fs = std::filesystem;
  if (fs::path(request.to).extension() != ".safetensors") {
    throw UserError(ExitCode::usage, "convert weights: the file to write must end in .safetensors, found '" +
                                         printable(request.to) + "'");
  }
  require_no_folders({request.to});
  check_outputs({request.from}, {request.to});
  keep_others_files({request.to}, request.force);
  const ConvertedWeights weights = open_engine().convert_weights(request.from, request.to, request.float32);
  std::cout << "read " << weights.tensors << " tensors of " << weights.elements << " elements (" << weights.origin
            << ")\nwrote " << request.to << "\n";
  return 0;
}

void add_convert_weights(Command& convert_verb, const std::shared_ptr<std::vector<std::string>>& labels) {
  Command verb = convert_verb.add_verb("weights", "Convert a torch.save weight file to safetensors");
  const auto request = std::make_shared<WeightConversion>();
  verb.add_option("input", request->from, "what to read: .pt or .pth from torch.save, or .safetensors")
      .required()
      .type_name("IN");
  verb.add_option("output", request->to, "what to write").required().type_name("OUT.safetensors");
  verb.add_flag("--float32", request->float32, "write half precision (float16, bfloat16) as float32");
  verb.add_flag("--force", request->force, "replace a weight file that bdc-host did not write");
  verb.footer(
      "Reads state dicts, pickled modules such as the official yolov7.pt, and checkpoints from bdc or torch.save\n"
      "(their 'ema' where there is one, else their 'model' or 'state_dict'). No code in a file is ever run.\n"
      "Example:\n  bdc-host convert weights yolov7-tiny.pt yolov7-tiny.safetensors --float32");
  verb.run([=] {
    if (!labels->empty()) throw UserError(ExitCode::usage, "convert: pass a file named 'weights' as ./weights");
    return convert_weights(*request);
  });
}

}  // namespace

void add_convert(Command& program) {
  Command verb = program.add_verb("convert", "Convert labels or weights to another format");
  const auto paths = std::make_shared<std::vector<std::string>>();
  const auto to = std::make_shared<std::string>();
  verb.add_option("paths", *paths, "what to read (files or folders), then what to write")
      .every_word()
      .type_name("FROM... TO");
  verb.add_option("--to", *to, "format to write; default: by the extension")
      .type_name("NAME")
      .one_of(names_of_formats(true));
  const auto force = std::make_shared<bool>(false);
  verb.add_flag("--force", *force, "replace a file that is not marked as bdc-host's own");
  const auto losses = std::make_shared<bool>(false);
  verb.add_flag("--losses", *losses, "tell what each format would lose of these labels, and write nothing");
  const auto reading = add_label_options(verb, "--from");
  verb.footer(format_lines("Can be read") + "\n" + format_lines("Can be written", true) +
              "\nWhat the written format cannot hold is listed with counts.\n"
              "Examples:\n  bdc-host convert ann.xml bob.xml crowd.json\n"
              "  bdc-host convert weights yolov7.pt yolov7.safetensors");
  add_convert_weights(verb, paths);
  verb.run([=] {
    if (*losses && !paths->empty()) return tell_losses(*paths, *reading);
    if (paths->size() < 2) {
      throw UserError(ExitCode::usage, "convert: expected what to read and what to write; see bdc-host convert --help");
    }
    return convert(*paths, *to, *force, *reading);
  });
}

}  // namespace bdc::host
