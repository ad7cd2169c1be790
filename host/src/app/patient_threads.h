#pragma once

namespace bdc::host {

/// Threads of LibTorch that have nothing to do spin by default, and so take the processor from the loader's threads and
/// from other programs: on a busy machine a step can take ten times as long. Whether they do is read from the
/// environment when the library is loaded, so the program starts itself once more with it set, unless the user has.
void restart_with_patient_threads(char** argv);

}  // namespace bdc::host
