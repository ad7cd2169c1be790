#include <iostream>

#include "app/verb.h"
#include "verbs/label_options.h"

namespace bdc::host {
namespace {

int convert(std::vector<std::string> paths, const std::string& to, const ReadOptions& reading) {
  const std::string target = paths.back();
  paths.pop_back();
  ReadReport read;
  const CrowdData data = read_crowd(paths, reading, &read);
  const WriteReport written = write_crowd(data, target, to);
  std::cout << "read " << data.images.size() << " images, " << data.annotations.size() << " annotations of "
            << data.annotators.size() << " annotators, " << data.assignments.size() << " assignments, "
            << data.truth.size() << " true boxes (" << read.format << ")\nwrote " << target << "\n";
  if (!written.losses.empty()) std::cerr << "warning: the written format cannot hold\n" << written.text();
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("convert", "Turn labels of one format into another");
  const auto paths = std::make_shared<std::vector<std::string>>();
  const auto to = std::make_shared<std::string>();
  verb->add_option("paths", *paths, "what to read (files or folders), then what to write")
      ->required()
      ->expected(2, -1)
      ->type_name("FROM... TO");
  verb->add_option("--to", *to, "format to write; by the extension when left out")->type_name("NAME");
  const auto reading = add_label_options(*verb, "--from");
  verb->footer("Can be read: " + format_names() + "\nCan be written: " + format_names(true) +
               "\nWhat the written format cannot hold is listed with counts.\n"
               "Example:\n  bdc-host convert ann.xml bob.xml crowd.json");
  verb->callback([=, &action] { action = [=] { return convert(*paths, *to, *reading); }; });
}

}  // namespace bdc::host
