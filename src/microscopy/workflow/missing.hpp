// Collects required options that were not given, to report them together.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

class MissingOptions {
  public:
    /// `what`: "gain". `option`: how to give it, "`gain=0.5`", or empty. `meaning`: the meaning of the value, or where
    /// to find it.
    void add(const std::string& what, const std::string& option, const std::string& meaning);
    /// Throws OptionError if any was added.
    /// - `about`: the input that lacks the values, or the command.
    /// - `command`: the command as given, which becomes an example with the missing options; empty for none.
    /// - `advice`: a last line, for users who do not know the values.
    void require(const std::string& about, const std::string& command, const std::string& advice = "") const;
    /// Returns true if any was added.
    bool any() const { return !all_.empty(); }
    /// Returns true if `what` was added.
    bool has(const std::string& what) const;

  private:
    struct Missing {
        std::string what, option, meaning;
    };
    std::vector<Missing> all_;
};

}  // namespace glint
