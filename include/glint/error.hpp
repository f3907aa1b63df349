// The exceptions that glint throws: few, and each tells what was asked, what was found and what to do.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace glint {

/// Base of everything glint throws on purpose. `what()` is a complete message for a person: it names the file
/// or option, the value, the limit and the way out.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An option or argument is wrong (a ROI of 2 pixels, a gain of 0, a missing pixel size).
class OptionError : public Error {
  public:
    using Error::Error;
};

/// A file that was given cannot be used (not a TIFF, truncated before the first frame, a wrong shape).
class InputError : public Error {
  public:
    using Error::Error;
};

/// A result could not be written (disk full, no permission). What was written under a temporary name is removed
/// or, for a resumable run, kept; nothing half-written ever stands under the final name.
class OutputError : public Error {
  public:
    using Error::Error;
};

/// The caller asked for a stop (Ctrl-C). Work finished before is kept where a function says so.
class Cancelled : public Error {
  public:
    using Error::Error;
};

}  // namespace glint
