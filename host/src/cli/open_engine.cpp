#include "cli/open_engine.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

std::atomic<Engine*> opened{nullptr};

/// Threads of LibTorch that have nothing to do spin for milliseconds by default, and so take the processor from the
/// loader's threads and from other programs: on a busy machine a step can take ten times as long. Threads that go to
/// sleep at once are woken thousands of times a second, and a small network takes twice as long. So they spin for
/// microseconds here, unless the user has said otherwise. It is read when the library is loaded.
void limit_spinning() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);  // about ten microseconds
}

/// Beside the program in a build, below lib in an installation.
fs::path engine_file() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = self.parent_path();
  for (const fs::path& file : {folder / BDC_ENGINE_FILE, folder.parent_path() / "lib" / "bdc" / BDC_ENGINE_FILE}) {
    if (fs::exists(file, error)) return file;
  }
  return {};
}

fs::path find_engine() {
  const fs::path file = engine_file();
  if (!file.empty()) return file;
  throw UserError(
      ExitCode::device,
      "this needs the training engine, which is not installed: there is no " BDC_ENGINE_FILE
      " beside bdc-host\n  advice: install LibTorch, TorchVision and OpenCV (packages-engine.txt lists them) and build "
      "with -DBDC_BUILD_ENGINE=ON; labels can be read, evaluated and, in one process, aggregated without it");
}

}  // namespace

Engine* engine_if_open() {
  return opened;
}

void require_engine() {
  if (opened == nullptr) (void)find_engine();
}

Engine& open_engine() {
  if (Engine* engine = opened) return *engine;
  const fs::path file = find_engine();
  limit_spinning();
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto function =
      library == nullptr ? nullptr : reinterpret_cast<EngineFunction>(::dlsym(library, kEngineSymbol));
  if (function == nullptr) {
    const char* why = ::dlerror();
    throw UserError(ExitCode::device, file.string() +
                                          ": cannot be loaded: " + (why != nullptr ? why : "no reason given") +
                                          "\n  advice: a library it needs is missing or has the wrong version; install "
                                          "what packages-engine.txt lists, or build again");
  }
  opened = function();
  return *opened;
}

}  // namespace bdc::host
