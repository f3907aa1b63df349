// The record of the finished steps of `glint run` for a movie: run.json in the movie's folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace glint {

/// Each step has a key: a hash of everything on which its results depend. The step's entry is written after its files.
/// If a process is killed, the entries of finished steps remain, and the next run writes the missing files again.
///     {"program": ..., "movie": ...,
///      "steps": {"link": {"key": ..., "options": ..., "results": ...,
///                         "outputs": {"4_linked.hdf5": {"bytes": ..., "modified": ..., "xxh3": ...}}}},
///      "begun": {"render": {"key": ..., "files": [...]}}}
///
/// A step that is both begun and finished was finished with another key: its results belong to an earlier recipe.
class RunRecord {
  public:
    using Json = nlohmann::ordered_json;

    /// Creates the folder, locks it and reads its record. Throws OutputError if another process uses the folder or
    /// nothing can be written. Throws OptionError for a folder that is not empty and has no run.json.
    explicit RunRecord(const std::filesystem::path& folder);
    ~RunRecord();
    RunRecord(const RunRecord&) = delete;
    RunRecord& operator=(const RunRecord&) = delete;

    const std::filesystem::path& folder() const { return folder_; }
    std::filesystem::path path(const std::string& file) const { return folder_ / file; }

    void set(const std::string& name, const Json& value);  ///< "movie", "recipe", "error"; null removes it

    /// Returns true if the step was finished with this key, and its files have not changed since.
    bool is_finished(const std::string& step, const std::string& key) const;
    /// Returns true if the step was last begun with this key, and not finished.
    bool was_begun(const std::string& step, const std::string& key) const;
    /// Drops unfinished steps and removes the files that they left, except those of the step's finished results.
    void forget_begun(const std::string& step);
    /// Records the files that the step is going to write, and drops `later`, the steps that depend on it. The
    /// step's own entry and earlier files stay until finish() replaces them. Throws OptionError for an existing
    /// file that no step wrote.
    void begin(const std::string& step, const std::string& key, const std::vector<std::string>& files,
               const std::vector<std::string>& later);
    /// Assigns those of `files` that exist to the step. Removes files that the step wrote earlier and no longer writes.
    void finish(const std::string& step, const std::string& key, const std::vector<std::string>& files,
                const Json& options, const Json& results);
    /// Removes the steps' entries, then the files that they wrote.
    void drop(const std::vector<std::string>& steps);

    bool has(const std::string& step) const;  ///< true if it was finished or begun
    Json results(const std::string& step) const;
    const Json& json() const { return json_; }
    /// Returns the record of a folder, without a lock; null if there is none, or if it cannot be read.
    static Json read(const std::filesystem::path& folder);

  private:
    Json entry_of(const std::string& step) const;
    Json outputs_of(const std::string& step) const;
    void write() const;

    std::filesystem::path folder_;
    int lock_ = -1;
    Json json_;
};

/// A hash as hexadecimal text.
std::string hash_text(const std::string& text);
/// Returns the hash of a file's bytes. Throws InputError.
std::string file_hash(const std::filesystem::path& file);

}  // namespace glint
