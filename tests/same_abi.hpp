// Compares the types of functions that glint declares itself with those of a library's header.
// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

namespace glint::test {

/// Whether both types are passed the same way: pointers to types of the same size, numbers of the same size and kind,
/// or structs of the same size.
template <class Ours, class Theirs>
constexpr bool same_value() {
    if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
        using O = std::remove_cv_t<std::remove_pointer_t<Ours>>;
        using T = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
        constexpr bool opaque = requires {
            requires !requires { sizeof(O); }
            || !requires { sizeof(T); };
        };
        if constexpr (std::is_void_v<O> || std::is_void_v<T> || opaque)
            return true;
        else
            return same_value<O, T>();
    } else {
        return sizeof(Ours) == sizeof(Theirs) && std::is_class_v<Ours> == std::is_class_v<Theirs> &&
               std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
               std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
    }
}

template <class Ours, class Theirs>
constexpr bool same_function = false;
template <class R, class... Ours, class S, class... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) constexpr bool same_function<R (*)(Ours...), S (*)(Theirs...)> =
    same_value<R, S>() && (same_value<Ours, Theirs>() && ... && true);

}  // namespace glint::test
