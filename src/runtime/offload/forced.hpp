// Temporarily forces the backend of a session, for calibration and tests.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/offload/session.hpp"

namespace glint::offload {

/// Disables the fallback to the CPU, so that failures are seen; restores the session's settings at the end of the
/// scope.
class Forced {
  public:
    explicit Forced(Session& session) : session_(session), choice_(session.choice()), oom_safe_(session.oom_safe()) {
        session_.set_oom_safe(false);
    }
    ~Forced() { session_.set_choice(choice_), session_.set_oom_safe(oom_safe_); }
    Forced(const Forced&) = delete;
    Forced& operator=(const Forced&) = delete;
    void to(Backend choice) { session_.set_choice(choice); }

  private:
    Session& session_;
    const Backend choice_;
    const bool oom_safe_;
};

}  // namespace glint::offload
