// The exceptions that glint throws; each message says what was requested, what was found and what to do.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace glint {

/// Base of all exceptions of glint. `what()` is a complete message for the user: it names the file or option, the
/// value, the limit and the remedy.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An option or argument is invalid (a ROI of 2 pixels, a gain of 0, a missing pixel size).
class OptionError : public Error {
  public:
    using Error::Error;
};

/// An input file cannot be used (not a TIFF, truncated before the first frame, a wrong shape).
class InputError : public Error {
  public:
    using Error::Error;
};

/// A result could not be written (disk full, no permission), or a file could not be opened because too many files are
/// open. The temporary file is removed or, for a resumable run, kept; an incomplete file never gets the final name.
class OutputError : public Error {
  public:
    using Error::Error;
};

/// The caller requested a stop (Ctrl-C). The function's documentation states whether finished work is kept.
class Cancelled : public Error {
  public:
    using Error::Error;
};

}  // namespace glint
