#include "weights/pickle.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unordered_map>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "weights/little_endian.h"

namespace bdc::host {

/// The stack machine of the pickle format. Every instruction takes at least one byte of input and makes at most one
/// value, and lists grow by what was pushed, so memory and time are linear in the input.
class Unpickler {
 public:
  Unpickler(std::string_view bytes, const std::string& name, const PickleLimits& limits)
      : in_(bytes), name_(name), limits_(limits) {}

  PickleTree run() {
    if (in_.size() > limits_.bytes) {
      fail("it has " + std::to_string(in_.size()) + " bytes; at most " + std::to_string(limits_.bytes) +
           " are allowed");
    }
    none_ = add(PickleKind::none);
    while (!done_) {
      opcode_at_ = at_;
      step(static_cast<unsigned char>(take(1)[0]));
    }
    if (at_ != in_.size()) fail("it ends here, yet more bytes follow");
    return std::move(tree_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(ExitCode::data, name_ + ": pickle, byte " + std::to_string(opcode_at_) + ": " + what);
  }

  // Input

  std::string_view take(std::uint64_t count) {
    if (count > in_.size() - at_) {
      fail("it is cut off: expected " + std::to_string(count) + " more bytes, found " +
           std::to_string(in_.size() - at_));
    }
    const std::string_view out = in_.substr(at_, count);
    at_ += count;
    return out;
  }
  std::uint64_t number(std::size_t size) { return little_endian(take(size), 0, size); }
  std::string_view counted(std::size_t size_of_count) { return take(number(size_of_count)); }
  std::string_view line() {
    const std::size_t end = in_.find('\n', at_);
    if (end == std::string_view::npos) fail("it is cut off in a line of text");
    const std::string_view out = in_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }

  // Values

  PickleId add(PickleKind kind) {
    if (tree_.values_.size() >= limits_.values) {
      fail("it has more than " + std::to_string(limits_.values) + " values");
    }
    tree_.values_.emplace_back();
    tree_.values_.back().kind = kind;
    return static_cast<PickleId>(tree_.values_.size() - 1);
  }
  PickleValue& value(PickleId id) { return tree_.values_[id]; }
  void put_into(PickleId parent, PickleId child) {
    deepen(parent, child);
    value(parent).items.push_back(child);
  }
  void deepen(PickleId parent, PickleId child) {
    const std::uint32_t depth = value(child).depth + 1;
    if (depth > value(parent).depth) value(parent).depth = depth;
    if (depth > limits_.depth) fail("values are nested deeper than " + std::to_string(limits_.depth));
  }

  // Stack

  void push(PickleId id) { stack_.push_back(id); }
  PickleId top() const {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("it takes a value that is not there");
    return stack_.back();
  }
  PickleId pop() {
    const PickleId out = top();
    stack_.pop_back();
    return out;
  }
  std::vector<PickleId> pop_to_mark() {
    if (marks_.empty()) fail("it takes values down to a mark that is not there");
    std::vector<PickleId> out(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return out;
  }
  void push_text(PickleKind kind, std::string_view text) {
    const PickleId id = add(kind);
    value(id).text = text;
    push(id);
  }
  void push_integer(std::int64_t integer, PickleKind kind = PickleKind::integer) {
    const PickleId id = add(kind);
    value(id).integer = integer;
    push(id);
  }
  void push_real(double real) {
    const PickleId id = add(PickleKind::real);
    value(id).real = real;
    push(id);
  }
  void push_collection(PickleKind kind, const std::vector<PickleId>& items) {
    if (kind == PickleKind::dict && items.size() % 2 != 0) fail("a dict has a key without a value");
    const PickleId id = add(kind);
    value(id).items.reserve(items.size());
    for (const PickleId item : items) put_into(id, item);
    push(id);
  }
  void push_tuple(std::size_t count) {
    std::vector<PickleId> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push_collection(PickleKind::tuple, items);
  }
  /// Two's complement, lowest byte first.
  void push_long(std::string_view bytes) {
    if (bytes.size() > 8) return push_text(PickleKind::big_integer, bytes);
    std::uint64_t out = little_endian(bytes, 0, bytes.size());
    if (!bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80u) && bytes.size() < 8)
      out |= ~std::uint64_t{0} << (8 * bytes.size());
    push_integer(static_cast<std::int64_t>(out));
  }
  void push_decimal(std::string text) {
    if (!text.empty() && text.back() == 'L') text.pop_back();
    char* end = nullptr;
    errno = 0;
    const long long out = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || end != text.c_str() + text.size() || errno != 0) {
      fail("expected an integer of 64 bits, found '" + printable(text, 40) + "'");
    }
    push_integer(out);
  }
  void push_quoted(std::string_view text) {
    if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0]) {
      fail("expected a quoted string, found '" + printable(std::string(text.substr(0, 40))) + "'");
    }
    push_text(PickleKind::string, text.substr(1, text.size() - 2));
  }
  /// Names may come from the memo, so a few bytes of input can ask for a long one again and again: their sum is
  /// limited.
  void push_global(const std::string& module, const std::string& name) {
    name_bytes_ += module.size() + 1 + name.size();
    if (name_bytes_ > limits_.bytes) fail("its names of classes and functions are too long");
    push_text(PickleKind::global, module + "." + name);
  }

  // Objects: callable, arguments, state, contents

  void push_object(PickleId callable, PickleId arguments) {
    const PickleId id = add(PickleKind::object);
    put_into(id, callable);
    put_into(id, arguments);
    value(id).items.insert(value(id).items.end(), {kNoValue, kNoValue});
    push(id);
  }
  void set_state(PickleId target, PickleId state) {
    if (value(target).kind != PickleKind::object) fail("it sets the state of " + tree_.describe(target));
    if (value(target).items[2] != kNoValue) fail("it sets the state of an object twice");
    deepen(target, state);
    value(target).items[2] = state;
  }
  /// The collection that items for `target` go to: itself, or the contents of an object.
  PickleId collection(PickleId target, PickleKind kind) {
    if (value(target).kind == kind) return target;
    if (value(target).kind != PickleKind::object) fail("it puts items into " + tree_.describe(target));
    PickleId contents = value(target).items[3];
    if (contents == kNoValue) {
      contents = add(kind);
      value(target).items[3] = contents;
    }
    if (value(contents).kind != kind) fail("it uses one object as a list and as a dict");
    return contents;
  }
  void put_items(PickleId target, PickleKind kind, const std::vector<PickleId>& items) {
    if (kind == PickleKind::dict && items.size() % 2 != 0) fail("a dict gets a key without a value");
    const PickleId into = collection(target, kind);
    for (const PickleId item : items) {
      put_into(into, item);
      if (into != target) deepen(target, into);
    }
  }

  // Memo

  void remember(std::uint64_t key) {
    memo_[key] = top();
    if (memo_.size() > limits_.values) fail("it stores more than " + std::to_string(limits_.values) + " values");
  }
  void recall(std::uint64_t key) {
    const auto it = memo_.find(key);
    if (it == memo_.end()) fail("it recalls value " + std::to_string(key) + ", which was never stored");
    push(it->second);
  }
  std::uint64_t memo_key() {
    const std::string text(line());
    if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
      fail("expected the number of a stored value, found '" + printable(text, 40) + "'");
    }
    return std::strtoull(text.c_str(), nullptr, 10);
  }

  void step(unsigned char opcode);

  std::string_view in_;
  const std::string& name_;
  PickleLimits limits_;
  PickleTree tree_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleId> memo_;
  std::size_t at_ = 0, opcode_at_ = 0, name_bytes_ = 0;
  PickleId none_ = kNoValue;
  bool done_ = false;
};

void Unpickler::step(unsigned char opcode) {
  using Kind = PickleKind;
  switch (opcode) {
    case 0x80:  // PROTO
      if (const auto protocol = number(1); protocol > 5) {
        fail("it is of protocol " + std::to_string(protocol) + "; 0 to 5 are supported");
      }
      return;
    case 0x95:  // FRAME: only a hint for buffering
      if (number(8) > in_.size() - at_) fail("it is cut off: a frame is longer than what is left");
      return;
    case '.':  // STOP
      tree_.root_ = pop();
      if (!stack_.empty() || !marks_.empty()) fail("it ends with values left over");
      done_ = true;
      return;

    case '(':  // MARK
      if (marks_.size() >= limits_.depth) fail("values are nested deeper than " + std::to_string(limits_.depth));
      return marks_.push_back(stack_.size());
    case '0':  // POP takes a mark when there is nothing above it
      if (!marks_.empty() && marks_.back() == stack_.size()) return marks_.pop_back();
      return static_cast<void>(pop());
    case '1':  // POP_MARK
      return static_cast<void>(pop_to_mark());
    case '2':  // DUP
      return push(top());

    case 'N':  // NONE
      return push(none_);
    case 0x88:  // NEWTRUE
      return push_integer(1, Kind::boolean);
    case 0x89:  // NEWFALSE
      return push_integer(0, Kind::boolean);
    case 'I': {  // INT: a decimal line; 00 and 01 are booleans
      const std::string text(line());
      if (text == "00" || text == "01") return push_integer(text == "01", Kind::boolean);
      return push_decimal(text);
    }
    case 'J':  // BININT
      return push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4))));
    case 'K':  // BININT1
      return push_integer(static_cast<std::int64_t>(number(1)));
    case 'M':  // BININT2
      return push_integer(static_cast<std::int64_t>(number(2)));
    case 'L':  // LONG
      return push_decimal(std::string(line()));
    case 0x8a:  // LONG1
      return push_long(counted(1));
    case 0x8b:  // LONG4
      return push_long(counted(4));
    case 'F': {  // FLOAT
      const std::string text(line());
      char* end = nullptr;
      const double real = std::strtod(text.c_str(), &end);
      if (text.empty() || end != text.c_str() + text.size())
        fail("expected a number, found '" + printable(text, 40) + "'");
      return push_real(real);
    }
    case 'G': {  // BINFLOAT: highest byte first
      const std::string_view bytes = take(8);
      std::uint64_t bits = 0;
      for (const char c : bytes) bits = bits << 8 | static_cast<unsigned char>(c);
      double real = 0;
      std::memcpy(&real, &bits, sizeof real);
      return push_real(real);
    }

    case 'S':  // STRING
      return push_quoted(line());
    case 'T':  // BINSTRING
      return push_text(Kind::string, counted(4));
    case 'U':  // SHORT_BINSTRING
      return push_text(Kind::string, counted(1));
    case 'V':  // UNICODE
      return push_text(Kind::string, line());
    case 'X':  // BINUNICODE
      return push_text(Kind::string, counted(4));
    case 0x8c:  // SHORT_BINUNICODE
      return push_text(Kind::string, counted(1));
    case 0x8d:  // BINUNICODE8
      return push_text(Kind::string, counted(8));
    case 'B':  // BINBYTES
      return push_text(Kind::bytes, counted(4));
    case 'C':  // SHORT_BINBYTES
      return push_text(Kind::bytes, counted(1));
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      return push_text(Kind::bytes, counted(8));

    case ')':  // EMPTY_TUPLE
      return push_collection(Kind::tuple, {});
    case 0x85:  // TUPLE1
      return push_tuple(1);
    case 0x86:  // TUPLE2
      return push_tuple(2);
    case 0x87:  // TUPLE3
      return push_tuple(3);
    case 't':  // TUPLE
      return push_collection(Kind::tuple, pop_to_mark());
    case ']':  // EMPTY_LIST
      return push_collection(Kind::list, {});
    case 'l':  // LIST
      return push_collection(Kind::list, pop_to_mark());
    case '}':  // EMPTY_DICT
      return push_collection(Kind::dict, {});
    case 'd':  // DICT
      return push_collection(Kind::dict, pop_to_mark());
    case 0x8f:  // EMPTY_SET
      return push_collection(Kind::set, {});
    case 0x91:  // FROZENSET
      return push_collection(Kind::set, pop_to_mark());
    case 'a': {  // APPEND
      const PickleId item = pop();
      return put_items(top(), Kind::list, {item});
    }
    case 'e': {  // APPENDS
      const auto items = pop_to_mark();
      return put_items(top(), Kind::list, items);
    }
    case 's': {  // SETITEM
      const PickleId item = pop(), key = pop();
      return put_items(top(), Kind::dict, {key, item});
    }
    case 'u': {  // SETITEMS
      const auto items = pop_to_mark();
      return put_items(top(), Kind::dict, items);
    }
    case 0x90: {  // ADDITEMS
      const auto items = pop_to_mark();
      return put_items(top(), Kind::set, items);
    }

    case 'g':  // GET
      return recall(memo_key());
    case 'h':  // BINGET
      return recall(number(1));
    case 'j':  // LONG_BINGET
      return recall(number(4));
    case 'p':  // PUT
      return remember(memo_key());
    case 'q':  // BINPUT
      return remember(number(1));
    case 'r':  // LONG_BINPUT
      return remember(number(4));
    case 0x94:  // MEMOIZE
      return remember(memo_.size());

    case 'c': {  // GLOBAL
      const std::string module(line()), name(line());
      return push_global(module, name);
    }
    case 0x93: {  // STACK_GLOBAL
      const PickleId name = pop(), module = pop();
      if (value(name).kind != Kind::string || value(module).kind != Kind::string) {
        fail("a name of a class or function is " + tree_.describe(value(name).kind == Kind::string ? module : name));
      }
      return push_global(std::string(value(module).text), std::string(value(name).text));
    }
    case 'R':     // REDUCE: callable(*arguments)
    case 0x81: {  // NEWOBJ: class.__new__(*arguments)
      const PickleId arguments = pop(), callable = pop();
      return push_object(callable, arguments);
    }
    case 0x92: {  // NEWOBJ_EX: the same with keyword arguments; the arguments are kept as (arguments, keywords)
      push_tuple(2);
      const PickleId arguments = pop(), callable = pop();
      return push_object(callable, arguments);
    }
    case 'i': {  // INST
      const std::string module(line()), name(line());
      push_collection(Kind::tuple, pop_to_mark());
      const PickleId arguments = pop();
      push_global(module, name);
      const PickleId callable = pop();
      return push_object(callable, arguments);
    }
    case 'o': {  // OBJ
      auto items = pop_to_mark();
      if (items.empty()) fail("an object has no class");
      const PickleId callable = items.front();
      items.erase(items.begin());
      push_collection(Kind::tuple, items);
      return push_object(callable, pop());
    }
    case 'b': {  // BUILD
      const PickleId state = pop();
      return set_state(top(), state);
    }
    case 'P':  // PERSID
      push_text(Kind::string, line());
      [[fallthrough]];
    case 'Q': {  // BINPERSID
      const PickleId id = pop();
      return push_collection(Kind::persistent, {id});
    }

    default: {
      static const char* const digits = "0123456789abcdef";
      fail(std::string("found the byte 0x") + digits[opcode >> 4] + digits[opcode & 15] +
           ", which is not an instruction that torch.save writes");
    }
  }
}

PickleObject PickleTree::object(PickleId id) const {
  const PickleValue& v = values_[id];
  if (v.kind != PickleKind::object) throw std::logic_error("PickleTree::object: not an object");
  return {v.items[0], v.items[1], v.items[2], v.items[3]};
}

const std::string& PickleTree::called(PickleId id) const {
  static const std::string none;
  if (values_[id].kind != PickleKind::object) return none;
  const PickleValue& callable = values_[values_[id].items[0]];
  return callable.kind == PickleKind::global ? callable.text : none;
}

std::string PickleTree::describe(PickleId id) const {
  if (id >= values_.size()) return "nothing";
  const PickleValue& v = values_[id];
  const std::string count = std::to_string(v.items.size());
  switch (v.kind) {
    case PickleKind::none:
      return "None";
    case PickleKind::boolean:
      return v.integer ? "True" : "False";
    case PickleKind::integer:
      return "the integer " + std::to_string(v.integer);
    case PickleKind::big_integer:
      return "an integer of " + std::to_string(v.text.size()) + " bytes";
    case PickleKind::real:
      return "the number " + std::to_string(v.real);
    case PickleKind::string:
      return "the string '" + printable(v.text, 60) + "'";
    case PickleKind::bytes:
      return std::to_string(v.text.size()) + " bytes";
    case PickleKind::tuple:
      return "a tuple of " + count;
    case PickleKind::list:
      return "a list of " + count;
    case PickleKind::set:
      return "a set of " + count;
    case PickleKind::dict:
      return "a dict of " + std::to_string(v.items.size() / 2);
    case PickleKind::global:
      return "the class or function " + printable(v.text, 100);
    case PickleKind::object:
      return called(id).empty() ? "a call of something without a name" : "a call of " + printable(called(id), 100);
    case PickleKind::persistent:
      return "a reference to a storage";
  }
  return "a value";
}

PickleTree unpickle(std::string_view bytes, const std::string& name, const PickleLimits& limits) {
  return Unpickler(bytes, name, limits).run();
}

}  // namespace bdc::host
