#include "support/far_device/far_device.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#define FAR_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace far_device {
namespace {

using at::Tensor;
using torch::jit::Stack;

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

// ---- the record of transfers

std::mutex record_mutex;
bool is_recording = false;
std::vector<Transfer> record;

void note(Transfer::Kind kind, const std::string& what, std::int64_t bytes) {
  const std::lock_guard<std::mutex> lock(record_mutex);
  if (is_recording) record.push_back({kind, what, bytes});
}

// ---- memory: addresses of the host with a bit that no address has

constexpr std::uintptr_t kFar = std::uintptr_t{1} << 62;

void* far_of(void* here) {
  return here == nullptr ? nullptr : reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(here) | kFar);
}
void* here_of(const void* far) {
  return far == nullptr ? nullptr : reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(far) & ~kFar);
}
void release(void* context) {
  c10::GetCPUAllocator()->raw_deallocate(context);
}

class FarAllocator : public c10::Allocator {
 public:
#if FAR_TORCH_AT_LEAST(2, 3)
  c10::DataPtr allocate(std::size_t bytes) override {
    return make(bytes);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(here_of(to), here_of(from), bytes);
  }
#else
  c10::DataPtr allocate(std::size_t bytes) const override {
    return make(bytes);
  }
#endif

 private:
  static c10::DataPtr make(std::size_t bytes) {
    void* memory = bytes == 0 ? nullptr : c10::GetCPUAllocator()->raw_allocate(bytes);
    return {far_of(memory), memory, release, device()};
  }
};

FarAllocator& allocator() {
  static FarAllocator one;
  return one;
}

class FarGuard : public c10::impl::DeviceGuardImplInterface {
 public:
  [[nodiscard]] c10::DeviceType type() const override { return kType; }
  [[nodiscard]] c10::Device exchangeDevice(c10::Device) const override { return device(); }
  [[nodiscard]] c10::Device getDevice() const override { return device(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  [[nodiscard]] c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
  [[nodiscard]] c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
  [[nodiscard]] c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  [[nodiscard]] bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, c10::DeviceIndex) const noexcept override {}
  [[nodiscard]] bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}

 private:
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, device()); }
};

// ---- a tensor here for a tensor there, and back

// LibTorch moves modules between the back ends of a fixed list only, XPU among them. Operators go by the highest bit,
// which is our own.
c10::DispatchKeySet far_keys() {
  return c10::DispatchKeySet(c10::DispatchKey::PrivateUse1) | c10::DispatchKeySet(c10::BackendComponent::XPUBit);
}

Tensor with_layout(c10::Storage storage, const c10::DispatchKeySet& keys, const Tensor& like) {
  Tensor out = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, like.dtype());
  out.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  return out;
}

/// The tensors of one call: the CPU sees others that lie in the same memory.
class Call {
 public:
  Tensor here(const Tensor& far) {
    if (!far.defined() || far.device().type() != kType) return far;
    auto& storage = storages_[far.storage().unsafeGetStorageImpl()];
    if (!storage.near) {
      storage.far = far.storage();
      storage.bytes = far.storage().nbytes();
      storage.address = here_of(far.storage().data_ptr().get());
      storage.near = c10::Storage(c10::Storage::use_byte_size_t(), storage.bytes,
                                  c10::DataPtr(storage.address, c10::Device(c10::kCPU)), c10::GetCPUAllocator(), true);
    }
    const Tensor out = with_layout(storage.near, c10::DispatchKeySet(c10::DispatchKey::CPU), far);
    if (far.is_conj()) out._set_conj(true);
    if (far.is_neg()) out._set_neg(true);
    tensors_[out.unsafeGetTensorImpl()] = {out, far};
    return out;
  }

  /// Gives tensors that were resized their new memory and shape.
  void finish_writes() {
    for (auto& [unused, storage] : storages_) {
      if (storage.near.data_ptr().get() == storage.address && storage.near.nbytes() == storage.bytes) continue;
      c10::DataPtr memory = allocator().allocate(storage.near.nbytes());
      if (storage.near.nbytes() > 0) {
        std::memcpy(here_of(memory.get()), storage.near.data_ptr().get(), storage.near.nbytes());
      }
      storage.far.unsafeGetStorageImpl()->set_nbytes(storage.near.nbytes());
      storage.far.set_data_ptr_noswap(std::move(memory));
    }
    for (auto& [unused, pair] : tensors_) {
      const auto& [near, far] = pair;
      if (near.sizes() == far.sizes() && near.strides() == far.strides()) continue;
      far.unsafeGetTensorImpl()->set_sizes_and_strides(near.sizes(), near.strides(), near.storage_offset());
    }
  }

  Tensor far(const Tensor& near) {
    if (!near.defined()) return near;
    if (const auto known = tensors_.find(near.unsafeGetTensorImpl()); known != tensors_.end()) {
      return known->second.second;
    }
    for (auto& [unused, storage] : storages_) {
      if (near.storage().unsafeGetStorageImpl() == storage.near.unsafeGetStorageImpl()) {
        return with_layout(storage.far, far_keys(), near);  // a view
      }
    }
    // The kernel's own memory: it goes along, under its far address.
    auto* owner = new c10::Storage(near.storage());
    c10::DataPtr memory(
        far_of(near.storage().data_ptr().get()), owner,
        [](void* context) { delete static_cast<c10::Storage*>(context); }, device());
    return with_layout(
        c10::Storage(c10::Storage::use_byte_size_t(), near.storage().nbytes(), std::move(memory), &allocator(), true),
        far_keys(), near);
  }

 private:
  struct Shared {
    c10::Storage far, near;
    std::size_t bytes = 0;
    void* address = nullptr;
  };
  std::map<const c10::StorageImpl*, Shared> storages_;
  std::map<const c10::TensorImpl*, std::pair<Tensor, Tensor>> tensors_;
};

/// Calls `change` on every tensor of a value; true when there was any.
template <class Change>
bool for_tensors(c10::IValue& value, const Change& change) {
  if (value.isTensor()) {
    value = change(value.toTensor());
    return true;
  }
  if (value.isTensorList()) {
    std::vector<Tensor> all = value.toTensorVector();
    for (Tensor& t : all) t = change(t);
    value = c10::IValue(c10::List<Tensor>(all));
    return true;
  }
  if (value.isOptionalTensorList()) {
    c10::List<c10::optional<Tensor>> out;
    for (const c10::optional<Tensor>& t : value.toOptionalTensorVector()) {
      out.push_back(t && t->defined() ? c10::optional<Tensor>(change(*t)) : c10::nullopt);
    }
    value = c10::IValue(std::move(out));
    return true;
  }
  return false;
}

void refuse_mixing(const std::string& name, const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors) {
    TORCH_CHECK(!t.defined() || t.device().type() == kType || t.dim() == 0, name,
                ": expected all tensors to be on the same device, but found at least two devices, ", device(), " and ",
                t.device(), "!");
  }
}

/// Whether the host has to wait for it, as on a GPU: its result's size depends on values.
bool waits_for_values(const std::string& name) {
  static const std::set<std::string> all = {"aten::nonzero",
                                            "aten::masked_select",
                                            "aten::bincount",
                                            "aten::_unique2",
                                            "aten::unique_dim",
                                            "aten::equal",
                                            "aten::is_nonzero",
                                            "aten::_unique",
                                            "aten::repeat_interleave",
                                            "aten::unique_consecutive",
                                            "aten::histc",
                                            "aten::is_set_to",
                                            "aten::_assert_async",
                                            "aten::nonzero_static",
                                            "aten::unique_dim_consecutive"};
  return all.count(name) > 0;
}

/// Operators that have no kernel of their own run on the CPU's.
void run_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  const std::string name = op.operator_name().name;
  const std::size_t arguments = op.schema().arguments().size(), returns = op.schema().returns().size();
  const std::size_t first = stack->size() - arguments;
  std::vector<Tensor> tensors;
  for (std::size_t n = 0; n < arguments; ++n) {
    (void)for_tensors((*stack)[first + n], [&](const Tensor& t) {
      tensors.push_back(t);
      return t;
    });
  }
  refuse_mixing(name, tensors);
  Call call;
  for (std::size_t n = 0; n < arguments; ++n) {
    c10::IValue& value = (*stack)[first + n];
    if (value.isDevice()) value = c10::Device(c10::kCPU);
    (void)for_tensors(value, [&](const Tensor& t) { return call.here(t); });
  }
  if (waits_for_values(name)) note(Transfer::Kind::number, name, 8);
  {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    op.callBoxed(stack);
  }
  call.finish_writes();
  const std::size_t out = stack->size() - returns;
  for (std::size_t n = 0; n < returns; ++n) {
    (void)for_tensors((*stack)[out + n], [&](const Tensor& t) { return call.far(t); });
  }
}

void run_unless_foreign(const c10::OperatorHandle& op, Stack* stack) {
  const std::string name = op.operator_name().name;
  TORCH_CHECK(name.rfind("torchvision::", 0) != 0, "Could not run '", name,
              "' with arguments from the 'PrivateUse1' backend.");
  run_on_cpu(op, stack);
}

// ---- operators that need more than a CPU kernel

Tensor empty_at(c10::IntArrayRef size, c10::optional<at::ScalarType> dtype, c10::optional<at::Layout>,
                c10::optional<at::Device>, c10::optional<bool>, c10::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &allocator(), far_keys(), c10::dtype_or_default(dtype), format);
}

Tensor empty_strided_at(c10::IntArrayRef size, c10::IntArrayRef stride, c10::optional<at::ScalarType> dtype,
                        c10::optional<at::Layout>, c10::optional<at::Device>, c10::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &allocator(), far_keys(), c10::dtype_or_default(dtype));
}

Tensor& copy_here(Tensor& to, const Tensor& from, bool) {
  const bool to_far = to.device().type() == kType, from_far = from.device().type() == kType;
  const auto bytes = static_cast<std::int64_t>(from.nbytes());
  if (to_far && !from_far) note(Transfer::Kind::up, "copy", bytes);
  if (!to_far && from_far) note(Transfer::Kind::down, "copy", bytes);
  Call call;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  call.here(to).copy_(call.here(from));
  return to;
}

at::Scalar number_of(const Tensor& t) {
  note(Transfer::Kind::number, "item", static_cast<std::int64_t>(t.element_size()));
  Call call;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return at::_local_scalar_dense(call.here(t));
}

const Tensor& resize_there(const Tensor& t, c10::IntArrayRef size, c10::optional<at::MemoryFormat> format) {
  Call call;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  call.here(t).resize_(size, format);
  call.finish_writes();
  return t;
}

Tensor convolve(const Tensor& input, const Tensor& weight, const c10::optional<Tensor>& bias, c10::IntArrayRef stride,
                c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed, c10::IntArrayRef output_padding,
                std::int64_t groups) {
  refuse_mixing("aten::convolution", {input, weight, bias.value_or(Tensor())});
  Call call;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return call.far(at::convolution(call.here(input), call.here(weight), call.here(bias.value_or(Tensor())), stride,
                                  padding, dilation, transposed, output_padding, groups));
}

std::tuple<Tensor, Tensor, Tensor> convolve_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                                                     c10::IntArrayRef stride, c10::IntArrayRef padding,
                                                     c10::IntArrayRef dilation, bool transposed,
                                                     c10::IntArrayRef output_padding, std::int64_t groups,
                                                     std::array<bool, 3> wanted) {
  refuse_mixing("aten::convolution_backward", {gradient, input, weight});
  Call call;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const std::int64_t channels = gradient.size(1);
  const auto [a, b, c] =
      at::convolution_backward(call.here(gradient), call.here(input), call.here(weight), c10::IntArrayRef(channels),
                               stride, padding, dilation, transposed, output_padding, groups, wanted);
  return {call.far(a), call.far(b), call.far(c)};
}

c10::impl::DeviceGuardImplRegistrar guard(kType, new FarGuard());

struct AllocatorRegistrar {
  AllocatorRegistrar() { c10::SetAllocator(kType, &allocator()); }
} allocator_registrar;

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_unless_foreign>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty_at);
  m.impl("empty_strided", &empty_strided_at);
  m.impl("copy_", &copy_here);
  m.impl("_local_scalar_dense", &number_of);
  m.impl("resize_", &resize_there);
  m.impl("convolution_overrideable", &convolve);
  m.impl("convolution_backward_overrideable", &convolve_backward);
}

/// Operators without a gradient pass through autograd. Some versions of LibTorch say so themselves.
struct PassAutograd {
  PassAutograd()
      : library(torch::Library::IMPL, "_", c10::make_optional(c10::DispatchKey::AutogradPrivateUse1), __FILE__,
                __LINE__) {
    if (c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(c10::DispatchKey::AutogradPrivateUse1)) return;
    library.fallback(torch::CppFunction::makeFallthrough());
  }
  torch::Library library;
} pass_autograd;

#if FAR_TORCH_AT_LEAST(2, 4)
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define FAR_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
  AT_FORALL_LOWER_PRECISION_FP(FAR_LOWER)
#define FAR_FULL(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
  AT_FORALL_FP32(FAR_FULL)
}
#endif

}  // namespace

c10::Device device() {
  return {kType, 0};
}

VisionKernels::VisionKernels()
    : library_(std::make_unique<torch::Library>(
          torch::Library::IMPL, "torchvision", c10::make_optional(c10::DispatchKey::PrivateUse1), __FILE__, __LINE__)) {
  for (const char* name : {"nms", "roi_align", "_roi_align_backward"}) {
    library_->impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
  }
}

VisionKernels::~VisionKernels() = default;

Watch::Watch() {
  const std::lock_guard<std::mutex> lock(record_mutex);
  record.clear();
  is_recording = true;
}

Watch::~Watch() {
  const std::lock_guard<std::mutex> lock(record_mutex);
  is_recording = false;
}

std::vector<Transfer> Watch::take() {
  const std::lock_guard<std::mutex> lock(record_mutex);
  return std::exchange(record, {});
}

std::int64_t count(const std::vector<Transfer>& all, Transfer::Kind kind) {
  return std::count_if(all.begin(), all.end(), [&](const Transfer& t) { return t.kind == kind; });
}

std::string text(const std::vector<Transfer>& all) {
  std::map<std::string, int> counts;
  for (const Transfer& t : all) {
    const char* kind = t.kind == Transfer::Kind::up ? "up" : t.kind == Transfer::Kind::down ? "down" : "number";
    ++counts[std::string(kind) + " " + t.what + " " + std::to_string(t.bytes) + " bytes"];
  }
  std::string out;
  for (const auto& [what, n] : counts) out += std::to_string(n) + " x " + what + "\n";
  return out;
}

}  // namespace far_device
