#pragma once

namespace bdc::host {

/// Threads of LibTorch that have nothing to do spin for milliseconds by default, and so take the processor from the
/// loader's threads and from other programs: on a busy machine a step can take ten times as long. Threads that go to
/// sleep at once are woken thousands of times a second, and a small network takes twice as long. So they spin for
/// microseconds here. That is read from the environment when the library is loaded, so the program starts itself once
/// more with it set, unless the user has.
void restart_with_patient_threads(char** argv);

}  // namespace bdc::host
