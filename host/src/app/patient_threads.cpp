#include "app/patient_threads.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace bdc::host {

void restart_with_patient_threads(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);  // about ten microseconds
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv(self.c_str(), argv);  // comes back only where that does not work; then it goes on as it is
}

}  // namespace bdc::host
