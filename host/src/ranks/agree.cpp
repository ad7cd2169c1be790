#include "ranks/agree.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>

#include "bdc/base/error.h"
#include "bdc/base/short_message.h"
#include "bdc/base/state_bytes.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "launch/launch.h"

namespace bdc::host {
namespace {

void put(StateWriter& state, const std::string& text) {
  state(std::vector<char>(text.begin(), text.end()));
}

std::string get(StateReader& state) {
  std::vector<char> text;
  state.resized(text);
  return {text.begin(), text.end()};
}

std::string ranks_text(const std::vector<std::size_t>& ranks) {
  std::vector<std::string> words;
  for (const std::size_t r : ranks) words.push_back(std::to_string(r));
  return (words.size() == 1 ? "rank " : "ranks ") + join(words);
}

/// The first line in which two texts differ, of each.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  std::size_t from = 0;
  while (true) {
    const auto end_a = std::min(a.find('\n', from), a.size()), end_b = std::min(b.find('\n', from), b.size());
    const std::string line_a = a.substr(from, end_a - from), line_b = b.substr(from, end_b - from);
    if (line_a != line_b || end_a == a.size() || end_b == b.size()) {
      return {std::string(trimmed(line_a)), std::string(trimmed(line_b))};
    }
    from = end_a + 1;
  }
}

struct Failure {
  ExitCode code = ExitCode::ok;
  std::string text;  ///< "": none
};

Failure failure_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const UserError& e) {
    return {e.code(), e.what()};
  } catch (const DataError& e) {
    return {ExitCode::data, e.what()};
  } catch (const std::bad_alloc&) {
    return {ExitCode::device, "out of memory"};
  } catch (const std::exception& e) {
    return {ExitCode::failure, short_message(e)};
  }
}

}  // namespace

void run_as_rank(Communicator& ranks, const std::function<void()>& work) {
  if (ranks.is_alone()) return work();
  const Failure own = failure_of(work);
  if (own.code == ExitCode::ok) return;
  ranks.leave(own.text);
  const std::string who = ranks.is_first() ? "" : "rank " + std::to_string(ranks.rank()) + ": ";
  const bool is_told = own.text.empty() || own.code == ExitCode::ranks_apart || own.text.rfind(who, 0) == 0;
  throw UserError(own.code, is_told ? own.text : who + own.text);
}

void require_agreement(Communicator& ranks, const std::vector<Fact>& facts) {
  if (ranks.is_alone()) return;
  StateWriter own;
  for (const auto& [name, value] : facts) put(own, value);
  const auto all = ranks.gather(own.take());
  std::vector<StateReader> readers(all.begin(), all.end());
  for (const auto& [name, own_value] : facts) {
    std::vector<std::string> values;
    for (StateReader& reader : readers) values.push_back(get(reader));
    std::vector<std::size_t> others;
    for (std::size_t r = 1; r < values.size(); ++r) {
      if (values[r] != values[0]) others.push_back(r);
    }
    if (others.empty()) continue;
    const auto [first, other] = first_difference(values[0], values[others[0]]);
    throw UserError(ExitCode::ranks_apart, ranks_text(others) + (others.size() == 1 ? " has" : " have") + " another " +
                                               name + " than rank 0\n  rank 0: " + printable(first) + "\n  rank " +
                                               std::to_string(others[0]) + ": " + printable(other));
  }
}

void do_together(Communicator& ranks, const std::function<void()>& work) {
  if (ranks.is_alone()) return work();
  const Failure own = failure_of(work);
  StateWriter bytes;
  bytes(static_cast<int>(own.code));
  put(bytes, own.text);
  const auto all = ranks.gather(bytes.take());
  std::vector<Failure> failures;
  for (const std::string& one : all) {
    StateReader state(one);
    int code = 0;
    state(code);
    failures.push_back({static_cast<ExitCode>(code), get(state)});
  }
  const auto failed =
      std::find_if(failures.begin(), failures.end(), [](const Failure& f) { return f.code != ExitCode::ok; });
  if (failed == failures.end()) return;
  const auto me = static_cast<std::size_t>(ranks.rank()), first = static_cast<std::size_t>(failed - failures.begin());
  if (own.code == ExitCode::ok) {
    throw UserError(failed->code, "rank " + std::to_string(first) + " failed: " + failed->text);
  }
  const bool is_said = std::any_of(failures.begin(), failures.begin() + static_cast<std::ptrdiff_t>(me),
                                   [&](const Failure& f) { return f.text == own.text; });
  const bool all_alike =
      std::all_of(failures.begin(), failures.end(), [&](const Failure& f) { return f.text == own.text; });
  throw UserError(own.code, is_said ? "" : (all_alike ? "" : "rank " + std::to_string(me) + ": ") + own.text);
}

}  // namespace bdc::host
