// Lists the GPUs with an installed glint::gpu, and creates a buffer on the first, if there is one.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <glint/gpu/device.hpp>
#include <glint/gpu/managed.hpp>
#include <vector>

int main() {
    const glint::gpu::Inventory found = glint::gpu::inventory();
    if (!found.why_none.empty()) return std::printf("no GPU: %s\n", found.why_none.c_str()), 0;
    const glint::gpu::Context context(0, {.limit_bytes = 1 << 26});
    const glint::gpu::Stream stream(context);
    glint::gpu::Buffer<float> buffer(stream, 3);
    const std::vector<float> sent{1, 2, 3};
    std::vector<float> received(3);
    upload(stream, buffer, sent);
    download(stream, received, buffer);
    std::printf("%s\n", context.name().c_str());
    return received == sent ? 0 : 1;
}
