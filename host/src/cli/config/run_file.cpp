#include "cli/config/run_file.h"

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

/// Whether a run's config.json says something else than the config in its checkpoint.
bool differs(const std::filesystem::path& file, const Json& config) {
  try {
    return read_json_file(file) != config;
  } catch (const UserError&) {
    return true;
  }
}

Json parsed(const std::string& text, const std::string& source) {
  Json out = Json::parse(text, nullptr, false);
  if (!out.is_object()) throw UserError(ExitCode::data, source + ": the config in it is damaged");
  return out;
}

}  // namespace

Json parse_run_config(const std::string& text, const std::string& source) {
  return with_sets(parsed(text, source), {});
}

ResumedConfig config_of_run(const std::filesystem::path& folder, const Catalog& catalog, Engine& engine) {
  if (!std::filesystem::is_directory(folder)) {
    throw UserError(ExitCode::data, folder.string() + ": no such run folder");
  }
  const std::filesystem::path file = folder / "config.json";
  std::error_code ignored;
  const bool has_file = std::filesystem::exists(file, ignored);
  const auto saved = engine.config_of_checkpoint(folder, has_file);
  if (!saved) {
    ConfigRequest own;
    own.file = file;
    std::vector<ConfigLayer> layers;
    Json config = resolve_config(own, &layers);
    return {complete_config(std::move(config), catalog, layers),
            {folder.string() + ": was stopped before its first checkpoint, so it starts over"}};
  }
  const Json config = parsed(*saved, folder.string());
  ResumedConfig out{complete_config(with_sets(config, {}), catalog), {}};
  if (has_file && differs(file, config)) {
    out.notes.push_back("warning: " + file.string() +
                        " has changed since the run began; a run keeps its settings, so the checkpoint's are used\n"
                        "  advice: to use the new ones, start a new run: bdc-host train --config " +
                        file.string() + " --set output.name=");
  }
  return out;
}

}  // namespace bdc::host
