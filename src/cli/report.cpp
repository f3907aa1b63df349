// Maps each kind of error to its exit code.
// SPDX-License-Identifier: MIT
#include "cli/report.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <sstream>

#include "base/no_memory.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/print.hpp"
#include "cli/spelling.hpp"
#include "glint/error.hpp"
#include "glint/gpu/error.hpp"

namespace glint::cli {

bool wants_json(int argc, char** argv) {
    for (int k = 1; k < argc && std::strcmp(argv[k], "--") != 0; ++k)
        if (std::strcmp(argv[k], "--json") == 0) return true;
    return false;
}

int report(const char* message, const char* kind, int code, bool json) {
    tell("glint: {}\n", message);
    if (json) print_json({{"error", as_json(Failure{message, kind, code})}});
    return code;
}

Failure failure_of(std::exception_ptr thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const OptionError& error) {
        return {error.what(), "options", exit_options};
    } catch (const InputError& error) {
        return {error.what(), "input", exit_input};
    } catch (const OutputError& error) {
        return {error.what(), "output", exit_output};
    } catch (const gpu::GpuError& error) {
        return {error.what(), "gpu", exit_gpu};
    } catch (const Cancelled& error) {
        return {error.what(), "interrupted", exit_interrupted};
    } catch (const NoMemoryElsewhere& error) {
        return {error.what(), "memory", exit_memory};
    } catch (const std::bad_alloc&) {
        return {why_no_memory(), "memory", exit_memory};
    } catch (const std::exception& error) {
        return {error.what(), "internal", exit_internal};
    }
}

std::string why_no_memory() { return in_flags(glint::why_no_memory); }

nlohmann::ordered_json as_json(const Failure& failure) {
    return {{"message", in_flags(failure.message)}, {"kind", failure.kind}, {"exit_code", failure.exit_code}};
}

std::string line_of_failed(const std::string& movie, const std::string& message) {
    return fmt::format("  {}{}\n", message.starts_with(movie) ? "" : movie + ": ", message);
}

int print_help(const CLI::App& program, const CLI::Success& success) {
    std::ostringstream text;
    const int code = program.exit(success, text, text);
    put_text(text.str());
    return code;
}

int report_errors(const std::function<int()>& body, bool json) {
    try {
        const int code = body();
        require_results();
        return code;
    } catch (...) {
        const Failure failure = failure_of(std::current_exception());
        return report(failure.message.c_str(), failure.kind, failure.exit_code, json);
    }
}

}  // namespace glint::cli
