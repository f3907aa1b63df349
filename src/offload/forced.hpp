// Sending a session's work where it is wanted, for a while.
// SPDX-License-Identifier: MIT
#pragma once

#include "glint/offload/session.hpp"

namespace glint::offload {

/// To one side after the other, and what fails there shall be seen; at the end of the scope the session decides as before.
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
