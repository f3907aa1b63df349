// One place where each kind of error gets its exit code.
// SPDX-License-Identifier: MIT
#include "cli/report.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "glint/error.hpp"
#include "glint/gpu/error.hpp"

namespace glint::cli {

bool wants_json(int argc, char** argv) {
    for (int k = 1; k < argc && std::strcmp(argv[k], "--") != 0; ++k)
        if (std::strcmp(argv[k], "--json") == 0) return true;
    return false;
}

int report(const char* message, const char* kind, int code, bool json) {
    fmt::print(stderr, "glint: {}\n", message);
    if (json) print_json({{"error", {{"message", message}, {"kind", kind}, {"exit_code", code}}}});
    return code;
}

int report_errors(const std::function<int()>& body, bool json) {
    try {
        return body();
    } catch (const OptionError& error) {
        return report(error.what(), "options", exit_options, json);
    } catch (const InputError& error) {
        return report(error.what(), "input", exit_input, json);
    } catch (const OutputError& error) {
        return report(error.what(), "output", exit_output, json);
    } catch (const gpu::GpuError& error) {
        return report(error.what(), "gpu", exit_gpu, json);
    } catch (const Cancelled& error) {
        return report(error.what(), "interrupted", exit_interrupted, json);
    } catch (const std::bad_alloc&) {
        return report("out of memory", "internal", exit_internal, json);
    } catch (const std::exception& error) {
        return report(error.what(), "internal", exit_internal, json);
    }
}

}  // namespace glint::cli
