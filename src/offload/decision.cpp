// A decision in words.
// SPDX-License-Identifier: MIT
#include "glint/offload/decision.hpp"
