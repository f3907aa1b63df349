// Downloads of other libraries' device memory, and synchronization with the default stream.
// SPDX-License-Identifier: MIT
#include "gpu/foreign.hpp"

#include <optional>

#include "gpu/context_state.hpp"
#include "gpu/text.hpp"

namespace glint::gpu {
namespace {

/// Retains the GPU's primary context and makes it current for the scope.
class PrimaryContextScope {
  public:
    explicit PrimaryContextScope(int ordinal) : driver_(usable_driver()) {
        check(driver_.cuDeviceGet(&device_, ordinal), "cuDeviceGet");
        cu::Context primary = nullptr;
        check(driver_.cuDevicePrimaryCtxRetain(&primary, device_), "cuDevicePrimaryCtxRetain");
        driver_.cuCtxGetCurrent(&before_);
        driver_.cuCtxSetCurrent(primary);
    }
    ~PrimaryContextScope() {
        driver_.cuCtxSetCurrent(before_);
        driver_.cuDevicePrimaryCtxRelease(device_);
    }
    PrimaryContextScope(const PrimaryContextScope&) = delete;
    PrimaryContextScope& operator=(const PrimaryContextScope&) = delete;

  private:
    const Driver& driver_;
    cu::Device device_ = 0;
    cu::Context before_ = nullptr;
};

bool primary_context_is_active(int ordinal) {
    const Driver& driver = usable_driver();
    cu::Device device = 0;
    unsigned flags = 0;
    int active = 0;
    check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet");
    check(driver.cuDevicePrimaryCtxGetState(device, &flags, &active), "cuDevicePrimaryCtxGetState");
    return active != 0;
}

}  // namespace

void wait_for_default_stream(int ordinal) {
    if (!primary_context_is_active(ordinal)) return;
    const PrimaryContextScope current(ordinal);
    const auto legacy = reinterpret_cast<cu::Stream>(std::uintptr_t(1));
    check(usable_driver().cuStreamSynchronize(legacy), "waiting for the default stream");
}

void download_foreign(int ordinal, std::uint64_t from, void* to, std::size_t bytes) {
    // By unified addressing, any context of the GPU can read the address. So no primary context is created only for
    // this.
    std::vector<Context> ours;
    if (!primary_context_is_active(ordinal))
        for (const Context& context : open_contexts())
            if (context.ordinal() == ordinal && ours.empty()) ours.push_back(context);
    std::optional<PrimaryContextScope> primary;
    std::optional<detail::Current> current;
    if (ours.empty())
        primary.emplace(ordinal);
    else
        current.emplace(ours.front().state());
    const Driver& driver = usable_driver();
    const std::string what = text("copying ", bytes_text(bytes), " from GPU ", ordinal, " to the host");
    cu::Stream stream = nullptr;
    check(driver.cuStreamCreate(&stream, cu::stream_non_blocking), what.c_str());
    cu::Result result = driver.cuMemcpyDtoHAsync(to, from, bytes, stream);
    if (result == cu::success) result = driver.cuStreamSynchronize(stream);
    driver.cuStreamDestroy(stream);
    check(result, what.c_str());
}

}  // namespace glint::gpu
