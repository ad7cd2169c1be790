#pragma once

namespace bdc::host {

/// From here on SIGINT, SIGTERM and SIGHUP (those that the process was not told to ignore) end the process with exit
/// code 130 after what is half-written has been removed. For verbs that have nothing to save. Not
/// for training, which finishes its step and saves a checkpoint.
void end_cleanly_on_interrupt();

}  // namespace bdc::host
