#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "app/application.h"

namespace {

/// Threads of LibTorch that have nothing to do spin by default, and so take the processor from the loader's threads and
/// from other programs: on a busy machine a step can take ten times as long. Whether they do is read from the
/// environment when the library is loaded, so the program starts itself once more with it set.
void restart_with_patient_threads(int argc, char** argv) {
  const bool trains = argc > 1 && (argv[1][0] == '-' || std::string(argv[1]) == "train" ||
                                   std::string(argv[1]) == "val" || std::string(argv[1]) == "predict");
  if (!trains || std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv(self.c_str(), argv);  // comes back only where that does not work; then it goes on as it is
}

}  // namespace

int main(int argc, char** argv) {
  restart_with_patient_threads(argc, argv);
  return bdc::host::run_application(argc, argv);
}
