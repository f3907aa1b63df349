// Options that a command needs and that nobody gave: told all at once, with a command that has them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace glint::cli {

class MissingOptions {
  public:
    /// `what`: "gain"; `flag`: how it is given, "--gain 0.5", added to the command; `meaning`: what the value is, or where it is
    /// found.
    void add(const std::string& what, const std::string& flag, const std::string& meaning);
    /// Throws OptionError if any was added. `about`: the input that lacks them, or the subcommand; `command`: the command as it
    /// was given, without them.
    /// `advice`: a last line, for those who do not know the values.
    void require(const std::string& about, const std::string& command, const std::string& advice = "") const;
    /// Whether `what` was added.
    bool has(const std::string& what) const {
        return (", " + names_ + ",").find(", " + what + ",") != std::string::npos;
    }

  private:
    std::string names_, flags_, meanings_;
};

}  // namespace glint::cli
