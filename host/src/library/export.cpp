#include "library/engine_library.h"

/// What the program looks up when it opens the library.
extern "C" __attribute__((visibility("default"))) bdc::host::Engine* bdc_engine() {
  return &bdc::host::engine_library();
}
