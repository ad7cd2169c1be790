#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ranks/meeting_place.h"

namespace bdc::host {

/// A thread that shows the other ranks that this one lives and where it stands, and finds out who does not when a call
/// among the ranks takes long or fails. It has a connection of its own: where the place to meet hangs, only this thread
/// hangs with it.
class Pulse {
 public:
  Pulse(int rank, int size, std::function<std::unique_ptr<MeetingPlace>()> connect,
        std::function<void(const std::string&)> say);
  /// Stops beating; gives a hanging thread up after a second.
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  void set_place(const std::string& place);
  /// A call among the ranks begins and ends. While one takes long, who has not come is told every five seconds.
  void begin_call();
  void end_call();
  /// After a call failed: who is gone or late, as a sentence. Takes up to four seconds.
  [[nodiscard]] std::string verdict();
  /// Leaves the reason behind for the others' verdicts.
  void leave(const std::string& why);

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace bdc::host
