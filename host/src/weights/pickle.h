#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bdc::host {

/// A value of a pickle, known by its number in the tree. Equal numbers are the same value: values may be shared, and
/// may contain themselves, so a walk over the tree needs limits of its own.
using PickleId = std::uint32_t;
constexpr PickleId kNoValue = 0xffffffffu;

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,      ///< fits into 64 bits
  big_integer,  ///< does not; `text` has its bytes, lowest first, two's complement
  real,
  string,
  bytes,
  tuple,
  list,
  set,
  dict,        ///< `items`: key, value, key, value...
  global,      ///< the name of a class or function, `text` = "module.name"; never looked up
  object,      ///< what a call would have made; never called. See PickleObject
  persistent,  ///< a reference out of the pickle; items[0] is the id, for torch.save a tuple that names a storage
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::uint32_t depth = 1;   ///< at least how deep values are nested in it, from what was known when they were put in
  std::int64_t integer = 0;  ///< boolean: 0 or 1
  double real = 0;
  std::string text;
  std::vector<PickleId> items;
};

/// The parts of an object: `callable(*arguments)` was asked for, then its state was to be set, then items were to be
/// put into it (a dict or a list). kNoValue for what was not asked for.
struct PickleObject {
  PickleId callable = kNoValue, arguments = kNoValue, state = kNoValue, contents = kNoValue;
};

/// The limits keep any pickle below about 600 MB of memory; one of a detector's weights needs a thousandth of that.
struct PickleLimits {
  std::size_t bytes = std::size_t{32} << 20;
  std::size_t values = 2'000'000;
  std::uint32_t depth = 1000;
};

/// What a pickle says, as data. All values stand in one array, so that no depth and no cycle troubles its destruction.
class PickleTree {
 public:
  [[nodiscard]] const PickleValue& operator[](PickleId id) const { return values_[id]; }
  [[nodiscard]] PickleId root() const { return root_; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  /// Throws std::logic_error unless it is an object.
  [[nodiscard]] PickleObject object(PickleId id) const;
  /// "module.name" of an object's callable, or "" when that is no global or `id` is no object.
  [[nodiscard]] const std::string& called(PickleId id) const;
  /// "the string 'x'", "a list of 3", "a call of os.system"...: for messages; short, whatever the value holds.
  [[nodiscard]] std::string describe(PickleId id) const;

 private:
  friend class Unpickler;
  std::vector<PickleValue> values_;
  PickleId root_ = kNoValue;
};

/// Reads a pickle of protocol 0 to 5. Builds data only: nothing is imported, looked up or called, whatever the bytes
/// ask for. `name` stands before messages. Throws UserError (exit 4), with the byte, when the bytes are no pickle,
/// break off, go on after their end, or exceed a limit, and for buffers outside of the pickle and registered
/// extensions, which torch.save does not use.
[[nodiscard]] PickleTree unpickle(std::string_view bytes, const std::string& name, const PickleLimits& limits = {});

}  // namespace bdc::host
