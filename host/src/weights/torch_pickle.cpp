#include "weights/torch_pickle.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

constexpr std::size_t kMaxTensors = 100'000, kMaxSteps = 1'000'000, kMaxModules = 64, kMaxName = 500,
                      kMaxDimensions = 16;

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

/// Functions that no weights need and that a hostile file wants to have called. Nothing is called here in any case; the
/// user learns what another program would have run.
bool is_hostile(const std::string& callable) {
  static const std::array modules = {"os",     "posix", "nt",  "subprocess", "sys",    "runpy",      "importlib",
                                     "socket", "pty",   "pdb", "ctypes",     "shutil", "webbrowser", "marshal"};
  static const std::array functions = {"eval", "exec",       "execfile", "compile",
                                       "open", "__import__", "input",    "breakpoint"};
  for (const std::string module : modules) {
    if (starts_with(callable, module + ".")) return true;
  }
  for (const std::string function : functions) {
    if (callable == "builtins." + function || callable == "__builtin__." + function) return true;
  }
  return false;
}

std::optional<ElementType> storage_type(const std::string& global) {
  static const std::map<std::string, ElementType> types = {
      {"DoubleStorage", ElementType::float64}, {"FloatStorage", ElementType::float32},
      {"HalfStorage", ElementType::float16},   {"BFloat16Storage", ElementType::bfloat16},
      {"LongStorage", ElementType::int64},     {"IntStorage", ElementType::int32},
      {"ShortStorage", ElementType::int16},    {"CharStorage", ElementType::int8},
      {"ByteStorage", ElementType::uint8},     {"BoolStorage", ElementType::boolean},
  };
  const auto dot = global.rfind('.');
  if (dot == std::string::npos || (global.substr(0, dot) != "torch" && global.substr(0, dot) != "torch.cuda"))
    return {};
  const auto it = types.find(global.substr(dot + 1));
  if (it == types.end()) return {};
  return it->second;
}

class TensorFinder {
 public:
  TensorFinder(const PickleTree& tree, const std::string& name) : tree_(tree), name_(name) {}

  TorchPickle run() {
    for (PickleId id = 0; id < tree_.size(); ++id) {
      if (is_hostile(tree_.called(id))) {
        fail("asks for a call to " + printable(tree_.called(id), 100) +
             ", which no weights need. Nothing was run. The file is hostile: do not open it with torch.load either");
      }
    }
    for (const char* part : {"ema", "model", "state_dict", "model_state_dict", ""}) {
      const PickleId found = *part ? lookup(tree_.root(), part) : tree_.root();
      if (found == kNoValue) continue;
      collect(found);
      if (out_.tensors.empty()) continue;
      out_.part = part;
      break;
    }
    if (out_.tensors.empty())
      fail("holds no tensors; expected a state dict, a module, or a dict with one, found " +
           tree_.describe(tree_.root()));
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw UserError(ExitCode::data, name_ + ": " + what); }
  const PickleValue& value(PickleId id) const { return tree_[id]; }

  /// Keys and values of a dict, or of an object that was filled like one (OrderedDict); null for anything else.
  const std::vector<PickleId>* entries(PickleId id) const {
    if (value(id).kind == PickleKind::dict) return &value(id).items;
    if (value(id).kind != PickleKind::object) return nullptr;
    const PickleId contents = tree_.object(id).contents;
    if (contents != kNoValue) return value(contents).kind == PickleKind::dict ? &value(contents).items : nullptr;
    static const std::vector<PickleId> none;
    const PickleId arguments = tree_.object(id).arguments;
    return tree_.called(id) == "collections.OrderedDict" && value(arguments).items.empty() ? &none : nullptr;
  }
  /// The value under a key of a dict, or kNoValue. The last one counts, as in Python.
  PickleId lookup(PickleId dict, const std::string& key) {
    PickleId out = kNoValue;
    if (const auto* list = entries(dict)) {
      for (std::size_t i = 0; i + 1 < list->size(); i += 2) {
        count_step();
        if (value((*list)[i]).kind == PickleKind::string && value((*list)[i]).text == key) out = (*list)[i + 1];
      }
    }
    return out;
  }
  /// The dict of attributes of a module, or kNoValue when it is none.
  PickleId module_state(PickleId id) {
    if (value(id).kind != PickleKind::object) return kNoValue;
    const PickleId state = tree_.object(id).state;
    if (state == kNoValue || value(state).kind != PickleKind::dict) return kNoValue;
    return lookup(state, "_modules") != kNoValue && lookup(state, "_parameters") != kNoValue ? state : kNoValue;
  }
  void count_step() {
    if (++steps_ > kMaxSteps) fail("has more than " + std::to_string(kMaxSteps) + " entries to look at");
  }

  void collect(PickleId id) {
    if (const PickleId state = module_state(id); state != kNoValue) return collect_module(state, "", 1);
    const auto* list = entries(id);
    if (!list) return;
    for (std::size_t i = 0; i + 1 < list->size(); i += 2) {
      count_step();
      if (value((*list)[i]).kind != PickleKind::string) continue;
      if (is_tensor((*list)[i + 1])) add(value((*list)[i]).text, (*list)[i + 1]);
    }
  }

  void collect_module(PickleId state, const std::string& prefix, std::size_t depth) {
    if (depth > kMaxModules) fail("module '" + printable(prefix, 100) + "' is nested too deeply, or contains itself");
    const std::set<std::string> passing = strings_of(lookup(state, "_non_persistent_buffers_set"));
    for (const char* kind : {"_parameters", "_buffers"}) {
      each_named(state, kind, prefix, [&](const std::string& key, PickleId id) {
        if (kind[1] == 'b' && passing.count(key)) return;
        if (!is_tensor(id))
          fail("'" + printable(prefix + key, 100) + "' is " + tree_.describe(id) + "; expected a tensor");
        add(prefix + key, id);
      });
    }
    each_named(state, "_modules", prefix, [&](const std::string& key, PickleId id) {
      const PickleId inner = module_state(id);
      if (inner == kNoValue)
        fail("'" + printable(prefix + key, 100) + "' is " + tree_.describe(id) + "; expected a module");
      if (prefix.size() + key.size() > kMaxName) fail("a name in it is longer than " + std::to_string(kMaxName));
      collect_module(inner, prefix + key + ".", depth + 1);
    });
  }
  /// What a module's dict of that kind holds, without what is None.
  template <class Do>
  void each_named(PickleId state, const char* kind, const std::string& prefix, const Do& what) {
    const PickleId dict = lookup(state, kind);
    if (dict == kNoValue) return;
    const auto* list = entries(dict);
    if (!list)
      fail("module '" + printable(prefix, 100) + "': " + kind + " is " + tree_.describe(dict) + "; expected a dict");
    for (std::size_t i = 0; i + 1 < list->size(); i += 2) {
      count_step();
      const PickleId key = (*list)[i], id = (*list)[i + 1];
      if (value(key).kind != PickleKind::string) {
        fail("module '" + printable(prefix, 100) + "': a key of " + kind + " is " + tree_.describe(key) +
             "; expected a string");
      }
      if (value(id).kind != PickleKind::none) what(value(key).text, id);
    }
  }
  /// The strings of a set, which is a set or, before protocol 4, a call of set with a list.
  std::set<std::string> strings_of(PickleId id) {
    std::set<std::string> out;
    if (id == kNoValue) return out;
    if (const std::string& called = tree_.called(id); called == "__builtin__.set" || called == "builtins.set") {
      const PickleId arguments = tree_.object(id).arguments;
      if (value(arguments).items.size() != 1) return out;
      id = value(arguments).items[0];
    }
    if (value(id).kind != PickleKind::set && value(id).kind != PickleKind::list) return out;
    for (const PickleId item : value(id).items) {
      count_step();
      if (value(item).kind == PickleKind::string) out.insert(value(item).text);
    }
    return out;
  }

  bool is_tensor(PickleId id) const {
    const std::string& called = tree_.called(id);
    return starts_with(called, "torch._utils._rebuild_") || starts_with(called, "torch._tensor._rebuild_");
  }

  void add(const std::string& tensor_name, PickleId id) {
    const bool sound =
        !tensor_name.empty() && tensor_name.size() <= kMaxName && tensor_name != "__metadata__" &&
        std::all_of(tensor_name.begin(), tensor_name.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
    if (!sound) {
      fail("tensor '" + printable(tensor_name, 100) + "': a name must have 1 to " + std::to_string(kMaxName) +
           " printable ASCII characters");
    }
    if (out_.tensors.size() >= kMaxTensors) fail("has more than " + std::to_string(kMaxTensors) + " tensors");
    where_ = "tensor '" + printable(tensor_name, 100) + "': ";
    if (!out_.tensors.emplace(tensor_name, rebuild(id, 0)).second) fail(where_ + "is there twice");
  }

  const std::vector<PickleId>& arguments_of(PickleId tuple, std::size_t at_least) const {
    if (value(tuple).kind != PickleKind::tuple || value(tuple).items.size() < at_least)
      fail(where_ + "expected " + std::to_string(at_least) + " values in a tuple, found " + tree_.describe(tuple));
    return value(tuple).items;
  }
  std::int64_t count_of(PickleId id, const char* what) const {
    if (value(id).kind != PickleKind::integer || value(id).integer < 0)
      fail(where_ + what + ": expected an integer that is not negative, found " + tree_.describe(id));
    return value(id).integer;
  }
  std::vector<std::int64_t> counts_of(PickleId id, const char* what) const {
    const PickleId arguments = tree_.called(id) == "torch.Size" ? tree_.object(id).arguments : id;
    const auto* items = &arguments_of(arguments, 0);
    if (arguments != id) items = &arguments_of(arguments_of(arguments, 1)[0], 0);
    if (items->size() > kMaxDimensions) fail(where_ + what + " has " + std::to_string(items->size()) + " dimensions");
    std::vector<std::int64_t> out;
    for (const PickleId item : *items) out.push_back(count_of(item, what));
    return out;
  }

  /// The arguments of the functions with which torch.save says how to make a tensor.
  PickledTensor rebuild(PickleId id, int depth) {
    const std::string& called = tree_.called(id);
    const PickleId arguments = tree_.object(id).arguments;
    if (depth < 4 && starts_with(called, "torch._utils._rebuild_parameter")) {  // also ..._with_state
      const PickleId inner = arguments_of(arguments, 1)[0];
      if (is_tensor(inner)) return rebuild(inner, depth + 1);
      fail(where_ + "a parameter is made of " + tree_.describe(inner) + "; expected a tensor");
    }
    if (called == "torch._tensor._rebuild_from_type_v2") {  // function, class, its arguments, attributes
      const auto& items = arguments_of(arguments, 3);
      const PickleValue& function = value(items[0]);
      if (function.kind == PickleKind::global && function.text == "torch._utils._rebuild_tensor_v2")
        return rebuild_tensor(items[2]);
      fail(where_ + "it is made by " + tree_.describe(items[0]) + ", which is not understood");
    }
    if (called == "torch._utils._rebuild_tensor_v2" || called == "torch._utils._rebuild_tensor")
      return rebuild_tensor(arguments);
    fail(where_ + "it is made by " + printable(called, 100) +
         ", which is not understood; expected an ordinary dense tensor");
  }

  /// arguments: storage, offset, shape, strides, and what does not matter here.
  PickledTensor rebuild_tensor(PickleId arguments) {
    const auto& items = arguments_of(arguments, 4);
    PickledTensor out = storage_of(items[0]);
    out.layout.offset = count_of(items[1], "offset");
    out.layout.shape = counts_of(items[2], "shape");
    out.layout.strides = counts_of(items[3], "strides");
    check_layout(out);
    return out;
  }
  PickledTensor storage_of(PickleId id) {
    if (value(id).kind != PickleKind::persistent)
      fail(where_ + "its storage is " + tree_.describe(id) + "; expected a reference to one");
    const auto& parts = arguments_of(value(id).items[0], 5);  // "storage", type, key, device, elements
    if (value(parts[0]).kind != PickleKind::string || value(parts[0]).text != "storage" ||
        value(parts[1]).kind != PickleKind::global || value(parts[2]).kind != PickleKind::string)
      fail(where_ + "its reference to a storage is not understood");
    const auto type = storage_type(value(parts[1]).text);
    if (!type)
      fail(where_ + "its storage is of type " + printable(value(parts[1]).text, 100) + ", which is not supported");
    PickledTensor out;
    out.layout.type = *type;
    out.storage = value(parts[2]).text.substr(0, 100);
    out.storage_elements = count_of(parts[4], "number of elements");
    return out;
  }
  void check_layout(const PickledTensor& tensor) const {
    const TensorLayout& layout = tensor.layout;
    if (layout.shape.size() != layout.strides.size()) {
      fail(where_ + "it has " + std::to_string(layout.shape.size()) + " sizes and " +
           std::to_string(layout.strides.size()) + " strides");
    }
    const auto too_large = [&] {
      fail(where_ + "its shape and strides leave its storage of " + std::to_string(tensor.storage_elements) +
           " elements");
    };
    const bool empty = std::count(layout.shape.begin(), layout.shape.end(), 0) > 0;
    std::int64_t elements = 1, last = layout.offset, step = 0;
    for (std::size_t d = 0; d < layout.shape.size(); ++d) {
      const std::int64_t n = layout.shape[d];
      // What is empty has no elements, but its sizes must still be ones that can be multiplied.
      if (__builtin_mul_overflow(elements, std::max<std::int64_t>(n, 1), &elements) ||
          elements > (std::int64_t{1} << 56))
        fail(where_ + "its shape has too many elements");
      if (empty) continue;
      if (__builtin_mul_overflow(n - 1, layout.strides[d], &step) || __builtin_add_overflow(last, step, &last))
        too_large();
    }
    if (empty ? layout.offset > tensor.storage_elements : last >= tensor.storage_elements) too_large();
  }

  const PickleTree& tree_;
  const std::string& name_;
  TorchPickle out_;
  std::string where_;
  std::size_t steps_ = 0;
};

}  // namespace

TorchPickle find_tensors(const PickleTree& tree, const std::string& name) {
  return TensorFinder(tree, name).run();
}

}  // namespace bdc::host
