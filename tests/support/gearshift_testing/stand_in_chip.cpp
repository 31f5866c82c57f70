// A chip that is none: memory of its own that the host cannot read, every operation by way of the CPU.
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>
#include <cstring>
#include <cstdlib>

namespace {
constexpr auto kDevice = c10::DeviceType::PrivateUse1;

// The host must never read the device's memory: its addresses are none of the host's, so reading one is a crash.
constexpr uintptr_t kElsewhere = uintptr_t{1} << 62;
void* moved(const void* p) { return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(p) ^ kElsewhere); }
void drop(void* p) { std::free(moved(p)); }

struct StandInAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    void* p = moved(std::malloc(n ? n : 1));
    return {p, p, &drop, c10::Device(kDevice, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &drop; }
  void copy_data(void* to, const void* from, size_t n) const override { std::memcpy(moved(to), moved(from), n); }
};
StandInAllocator allocator;
REGISTER_ALLOCATOR(kDevice, &allocator);

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), format);
}
at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &allocator,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(dtype));
}
at::Tensor on_cpu(const at::Tensor& t) {  // the same memory as a CPU tensor
  auto storage = c10::Storage(c10::Storage::use_byte_size_t(), t.storage().nbytes(),
      c10::DataPtr(moved(t.storage().mutable_data()), c10::Device(c10::kCPU)), nullptr, false);
  auto made = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), t.dtype());
  made.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
  return made;
}
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  auto a = from.is_cpu() ? from : on_cpu(from);
  auto b = to.is_cpu() ? to : on_cpu(to);
  b.copy_(a);
  return to;
}
at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (from.sizes() != to.sizes()) {
    auto* impl = to.unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(empty(from.sizes(), from.scalar_type(), {}, {}, {}, {}).storage());
    impl->set_sizes_contiguous(from.sizes());
  }
  return copy_from(from, to, false);
}
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", &at::native::view);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("set_.source_Storage_storage_offset", &at::native::set_storage_cpu_);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device d) const override { return d; }
  c10::Device getDevice() const override { return c10::Device(kDevice, 0); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device d) const override { return c10::Stream(c10::Stream::DEFAULT, d); }
  c10::Stream exchangeStream(c10::Stream s) const override { return s; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};
const bool registered = (at::RegisterPrivateUse1HooksInterface(new Hooks), true);
}  // namespace
