// Keeps run.json.
// SPDX-License-Identifier: MIT
#include "workflow/record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "base/hash.hpp"
#include "glint/error.hpp"
#include "glint/version.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/file_state.hpp"
#include "io/files/input_file.hpp"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Json = RunRecord::Json;

constexpr const char* record_name = "run.json";
constexpr const char* lock_name = ".lock";

/// Returns bytes, modification time and hash. The hash is computed only if the time differs, as after copying a folder.
Json described(const fs::path& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) return nullptr;
    return {{"bytes", std::int64_t(status.st_size)},
            {"modified", fmt::format("{}.{:09}", std::int64_t(status.st_mtim.tv_sec), status.st_mtim.tv_nsec)}};
}

bool is_same(const fs::path& file, const Json& then) {
    const Json now = described(file);
    if (now.is_null() || !then.is_object() || now["bytes"] != then.value("bytes", std::int64_t(-1))) return false;
    return now["modified"] == then.value("modified", "") || file_hash(file) == then.value("xxh3", "");
}

bool has_entries(const fs::path& folder) {
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        if (entry->path().filename() != lock_name && !entry->path().filename().string().starts_with(".run.json.part"))
            return true;
    return false;
}

}  // namespace

std::string hash_text(const std::string& text) { return fmt::format("{:016x}", hash_of(text.data(), text.size())); }

std::string file_hash(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw_cannot_open(file.string(), errno);
    Hash hash;
    std::vector<char> buffer(std::size_t(1) << 20);
    while (in.read(buffer.data(), std::streamsize(buffer.size())) || in.gcount() > 0)
        hash.add(buffer.data(), std::size_t(in.gcount()));
    if (in.bad()) throw InputError(fmt::format("{} cannot be read to its end", file.string()));
    return fmt::format("{:016x}", hash.value());
}

RunRecord::RunRecord(const fs::path& folder) : folder_(folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed)
        throw OutputError(
            fmt::format("cannot make the folder {}: {}; choose another", folder.string(), failed.message()));
    json_ = read(folder);
    if (!json_.is_object()) {
        if (fs::exists(path(record_name), failed))
            throw OptionError(fmt::format("{} is damaged, or of another program: remove it, or choose another folder",
                                          path(record_name).string()));
        if (has_entries(folder))
            throw OptionError(
                fmt::format("{} has files that glint run did not write (there is no {}): choose another folder",
                            folder.string(), record_name));
        json_ = Json::object();
    }
    lock_ = ::open(path(lock_name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) throw_output_error(path(lock_name), errno);
    if (lock_file(lock_) == FileLock::held) {
        ::close(lock_);
        throw OutputError(
            fmt::format("another glint run works in {}: wait for it, or choose another folder", folder.string()));
    }
    // Reads again: another process may have ended while this one was starting.
    if (const Json now = read(folder); now.is_object()) json_ = now;
    json_["program"] = "glint " + version();
}

RunRecord::~RunRecord() {
    if (lock_ >= 0) ::close(lock_);
}

Json RunRecord::read(const fs::path& folder) {
    std::ifstream in(folder / record_name, std::ios::binary);
    if (!in) return nullptr;
    const Json json = Json::parse(in, nullptr, false);
    return json.is_object() && json.value("program", "").starts_with("glint") ? json : Json();
}

void RunRecord::set(const std::string& name, const Json& value) {
    if (value.is_null())
        json_.erase(name);
    else
        json_[name] = value;
    write();
}

bool RunRecord::is_finished(const std::string& step, const std::string& key) const {
    if (entry_of(step).value("key", "") != key) return false;
    const Json outputs = outputs_of(step);
    for (const auto& [file, then] : outputs.items())
        if (!is_same(path(file), then)) return false;
    return true;
}

bool RunRecord::was_begun(const std::string& step, const std::string& key) const {
    return json_.value("begun", Json::object()).value(step, Json::object()).value("key", "") == key;
}

void RunRecord::forget_begun(const std::string& step) {
    if (!json_.value("begun", Json::object()).contains(step)) return;
    const Json outputs = outputs_of(step), begun = json_["begun"][step].value("files", Json::array());
    std::error_code none;
    for (const std::string file : begun)
        if (!outputs.contains(file)) fs::remove(path(file), none);
    json_["begun"].erase(step);
    write();
}

void RunRecord::begin(const std::string& step, const std::string& key, const std::vector<std::string>& files,
                      const std::vector<std::string>& later) {
    const auto wrote = [&](const std::string& file) {
        for (const char* list : {"steps", "begun"}) {
            const Json entries = json_.value(list, Json::object());
            for (const auto& [name, entry] : entries.items()) {
                const Json begun = entry.value("files", Json::array());
                if (entry.value("outputs", Json::object()).contains(file)) return true;
                if (std::find(begun.begin(), begun.end(), file) != begun.end()) return true;
            }
        }
        return false;
    };
    std::error_code none;
    for (const std::string& file : files)
        if (fs::exists(path(file), none) && !wrote(file))
            throw OptionError(fmt::format(
                "{} exists, and glint run did not write it: remove it, or choose another folder", path(file).string()));
    json_["begun"][step] = {{"key", key}, {"files", files}};
    drop(later);
}

void RunRecord::finish(const std::string& step, const std::string& key, const std::vector<std::string>& files,
                       const Json& options, const Json& results) {
    Json outputs = Json::object();
    for (const std::string& file : files) {
        const Json now = described(path(file));
        if (now.is_null()) continue;  // a picture could not be drawn
        outputs[file] = now;
        outputs[file]["xxh3"] = file_hash(path(file));
    }
    std::error_code none;
    const Json before = outputs_of(step);
    for (const auto& [file, then] : before.items())
        if (!outputs.contains(file)) fs::remove(path(file), none);
    json_["steps"][step] = {{"key", key},
                            {"program", "glint " + version()},
                            {"options", options},
                            {"outputs", outputs},
                            {"results", results}};
    json_["begun"].erase(step);
    write();
}

void RunRecord::drop(const std::vector<std::string>& steps) {
    std::vector<std::string> files;
    for (const std::string& step : steps) {
        const Json outputs = outputs_of(step), begun = json_.value("begun", Json::object()).value(step, Json::object());
        Json its = begun.value("files", Json::array());
        for (const auto& [file, then] : outputs.items()) its.push_back(file);
        files.insert(files.end(), its.begin(), its.end());
        if (!its.empty()) json_["begun"][step] = {{"key", ""}, {"files", its}};  // until the files are removed
        if (json_.contains("steps")) json_["steps"].erase(step);
    }
    write();
    std::error_code none;
    for (const std::string& file : files) fs::remove(path(file), none);
    for (const std::string& step : steps)
        if (json_.contains("begun")) json_["begun"].erase(step);
}

bool RunRecord::has(const std::string& step) const {
    return !entry_of(step).empty() || json_.value("begun", Json::object()).contains(step);
}

Json RunRecord::entry_of(const std::string& step) const {
    return json_.value("steps", Json::object()).value(step, Json::object());
}
Json RunRecord::outputs_of(const std::string& step) const { return entry_of(step).value("outputs", Json::object()); }
Json RunRecord::results(const std::string& step) const { return entry_of(step).value("results", Json::object()); }

void RunRecord::write() const {
    AtomicFile file(path(record_name));
    file.write(json_.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    file.commit();
}

}  // namespace glint
