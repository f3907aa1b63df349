// Options that are needed and that nobody gave: told all at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace glint {

class MissingOptions {
  public:
    /// `what`: "gain"; `option`: how it is given, "`gain=0.5`", or empty; `meaning`: what the value is, or where it is found.
    void add(const std::string& what, const std::string& option, const std::string& meaning);
    /// Throws OptionError if any was added. `about`: the input that lacks them, or the command; `command`: the command as it was given,
    /// without them, which becomes an example; empty: none. `advice`: a last line, for those who do not know the values.
    void require(const std::string& about, const std::string& command, const std::string& advice = "") const;
    /// Whether `what` was added.
    bool has(const std::string& what) const;

  private:
    struct Missing {
        std::string what, option, meaning;
    };
    std::vector<Missing> all_;
};

}  // namespace glint
