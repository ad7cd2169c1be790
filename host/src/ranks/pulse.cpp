#include "ranks/pulse.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "bdc/base/now_seconds.h"
#include "bdc/base/text.h"

namespace bdc::host {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kBeat = 0.25;       ///< seconds between two signs of life
constexpr double kSilent = 2;        ///< without a sign of life for so long, a rank is taken to be gone
constexpr double kTellEvery = 5;     ///< while a call waits
constexpr double kAnswerWithin = 4;  ///< a place to meet that takes longer is taken to be gone

std::string key(const char* what, int rank) {
  return std::string(what) + "/" + std::to_string(rank);
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> words;
  for (const int r : ranks) words.push_back(std::to_string(r));
  return (words.size() == 1 ? "rank " : "ranks ") + join(words);
}

/// What one rank shows: beats, calls so far, place.
struct Sign {
  std::string text;
  double changed = 0;  ///< when it was last seen to change
  [[nodiscard]] std::int64_t calls() const {
    const auto bar = text.find('|');
    return bar == std::string::npos ? 0 : std::atoll(text.c_str() + bar + 1);
  }
  [[nodiscard]] std::string place() const {
    const auto bar = text.rfind('|');
    return bar == std::string::npos ? "" : text.substr(bar + 1);
  }
};

}  // namespace

struct Pulse::Shared {
  int rank = 0, size = 1;
  std::function<std::unique_ptr<MeetingPlace>()> connect;
  std::function<void(const std::string&)> say;

  std::mutex mutex;  ///< of everything below
  std::condition_variable changed;
  std::string place = "the beginning", why_left;
  std::int64_t calls = 0;
  double waits_since = 0;  ///< of the call under way; 0: none
  bool stop = false, has_ended = false, is_asked = false, is_left = false;
  bool has_verdict = false;
  std::string verdict;

  // Of the thread alone.
  std::unique_ptr<MeetingPlace> meeting;
  std::vector<Sign> signs;
  std::int64_t beats = 0;

  /// Looks at what everyone shows.
  void look() {
    const double now = now_seconds();
    signs.resize(static_cast<std::size_t>(size));
    for (int r = 0; r < size; ++r) {
      Sign& sign = signs[static_cast<std::size_t>(r)];
      std::string text = r == rank ? "" : meeting->get(key("alive", r));
      if (text == sign.text && sign.changed > 0) continue;
      sign.text = std::move(text);
      sign.changed = now;
    }
  }
  [[nodiscard]] std::vector<int> silent(double now) const {
    std::vector<int> out;
    for (int r = 0; r < size; ++r) {
      if (r != rank && now - signs[static_cast<std::size_t>(r)].changed >= kSilent) out.push_back(r);
    }
    return out;
  }
  [[nodiscard]] std::vector<int> late(std::int64_t own_calls) const {
    std::vector<int> out;
    for (int r = 0; r < size; ++r) {
      if (r != rank && signs[static_cast<std::size_t>(r)].calls() < own_calls) out.push_back(r);
    }
    return out;
  }
  [[nodiscard]] std::string places(const std::vector<int>& ranks) const {
    std::vector<std::string> words;
    for (const int r : ranks) {
      const std::string at = signs[static_cast<std::size_t>(r)].place();
      if (!at.empty()) words.push_back("rank " + std::to_string(r) + " at " + at);
    }
    return words.empty() ? "" : " (last seen: " + join(words) + ")";
  }

  /// Who is gone, in the end: ranks that said why, or fell silent; else those that are late.
  std::string find_verdict(std::int64_t own_calls) {
    meeting->set(key("noticed", rank), "1");  // this rank leaves because of another one
    signs.clear();
    const double begun = now_seconds();
    while (true) {
      look();
      const double now = now_seconds();
      std::vector<std::string> told;
      for (int r = 0; r < size; ++r) {
        const std::string why = r == rank ? "" : meeting->get(key("left", r));
        if (!why.empty()) told.push_back("rank " + std::to_string(r) + " failed: " + why);
      }
      if (!told.empty()) return join(told, "; ");
      std::vector<int> gone;
      for (const int r : silent(now)) {
        if (meeting->get(key("noticed", r)).empty()) gone.push_back(r);
      }
      if (!gone.empty()) return ranks_text(gone) + (gone.size() == 1 ? " is" : " are") + " gone" + places(gone);
      if (now - begun > kSilent + 2 * kBeat) break;
      std::this_thread::sleep_for(Seconds(kBeat));
    }
    const std::vector<int> behind = late(own_calls);
    if (!behind.empty()) {
      return ranks_text(behind) + (behind.size() == 1 ? " lives but has" : " live but have") + " not come" +
             places(behind);
    }
    return "the ranks have lost touch with one another";
  }
};

Pulse::Pulse(int rank, int size, std::function<std::unique_ptr<MeetingPlace>()> connect,
             std::function<void(const std::string&)> say)
    : shared_(std::make_shared<Shared>()) {
  shared_->rank = rank;
  shared_->size = size;
  shared_->connect = std::move(connect);
  shared_->say = std::move(say);
  thread_ = std::thread([shared = shared_] { run(shared); });
}

Pulse::~Pulse() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, Seconds(1), [&] { return shared_->has_ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void Pulse::run(const std::shared_ptr<Shared>& shared) {
  Shared& s = *shared;
  double told = 0;
  try {
    s.meeting = s.connect();
    std::unique_lock<std::mutex> lock(s.mutex);
    while (!s.stop) {
      const std::string sign = std::to_string(++s.beats) + "|" + std::to_string(s.calls) + "|" + s.place;
      const double waits_since = s.waits_since;
      const std::int64_t calls = s.calls;
      const bool is_asked = s.is_asked && !s.has_verdict;
      const std::string why_left = s.why_left;
      lock.unlock();
      s.meeting->set(key("alive", s.rank), sign);
      if (!why_left.empty()) s.meeting->set(key("left", s.rank), why_left);
      std::string verdict;
      if (is_asked) verdict = s.find_verdict(calls);
      const double now = now_seconds();
      if (!is_asked && waits_since > 0 && now - waits_since >= kTellEvery && now - told >= kTellEvery) {
        s.look();
        const auto behind = s.late(calls);
        if (!behind.empty() && s.say) {
          s.say("waiting for " + ranks_text(behind) + s.places(behind) + ", " +
                std::to_string(static_cast<int>(now - waits_since)) + " s so far");
        }
        told = now;
      }
      lock.lock();
      if (is_asked) {
        s.verdict = verdict;
        s.has_verdict = true;
        s.changed.notify_all();
      }
      if (!why_left.empty()) {
        s.is_left = true;
        s.changed.notify_all();
      }
      s.changed.wait_for(lock, Seconds(kBeat), [&] {
        return s.stop || (s.is_asked && !s.has_verdict) || (!s.why_left.empty() && !s.is_left);
      });
    }
  } catch (const std::exception&) {  // the place to meet is gone; verdict() says so
  }
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.meeting = nullptr;
  s.has_ended = true;
  s.changed.notify_all();
}

void Pulse::set_place(const std::string& place) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->place = place;
}

void Pulse::begin_call() {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  ++shared_->calls;
  shared_->waits_since = now_seconds();
}

void Pulse::end_call() {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->waits_since = 0;
}

std::string Pulse::verdict() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  const std::string place = shared_->place;
  shared_->is_asked = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, Seconds(kAnswerWithin), [&] { return shared_->has_verdict || shared_->has_ended; });
  const std::string who = shared_->has_verdict ? shared_->verdict
                          : shared_->rank == 0 ? "the ranks have lost touch with one another"
                                               : "rank 0 is gone: where the ranks meet does not answer";
  return who + "; this is rank " + std::to_string(shared_->rank) + " of " + std::to_string(shared_->size) + " at " +
         place;
}

void Pulse::leave(const std::string& why) {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->why_left = why.empty() ? "no reason given" : why;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, Seconds(1), [&] { return shared_->is_left || shared_->has_ended; });
}

}  // namespace bdc::host
