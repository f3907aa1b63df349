// The simulated driver's state of this process: contexts, and which handles are valid.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/cuda_abi.hpp"
#include "gpu/kernel_abi.hpp"
#include "schedule.hpp"
#include "server.hpp"
#include "settings.hpp"

namespace simgpu {

/// The primary context of one device, or one of cuCtxCreate.
struct Context {
    int device = -1;     // the server's number, not the ordinal
    int references = 0;  // 1 for a separate context until it is destroyed
    bool separate = false;
    cu::Result lost = cu::success;     // the sticky error, which every call returns until the process ends
    cu::Result pending = cu::success;  // an operation's error, not sticky, which the next synchronisation returns
    std::set<int> peers;

    void note_error(cu::Result result);
    cu::Result take_error();
};

struct Event {
    Context* context;
    bool timing;
    RecordPtr record;  // null: never recorded
};

struct Module {
    Context* context;
    std::string code;  // searched for names of kernels; empty: a simulated image, which contains all kernels
};

struct Function {
    Context* context;
    const Module* module;
    const glint::gpu::SimulatedKernel* kernel;
    std::string name;
    int max_dynamic_shared = 48 * 1024;
};

/// The valid handles of one kind. Using any other handle ends the program, because a real driver may crash or corrupt
/// data. Objects are never freed, so that no later object gets the address of a stale handle.
template <class T>
class Handles {
    std::set<T*> live_, dead_;
    const char* kind_;

  public:
    explicit Handles(const char* kind) : kind_(kind) {}
    T* add(T* object) { return *live_.insert(object).first; }
    template <class Handle>
    T& get(Handle handle) const {
        T* object = reinterpret_cast<T*>(handle);
        if (!handle) bug("a null %s: glint uses no default stream", kind_);
        if (!live_.contains(object)) bug("a %s that was destroyed, or whose context was released, is used", kind_);
        return *object;
    }
    void remove(T& object) {
        live_.erase(&object);
        dead_.insert(&object);
    }
    template <class Condition>
    void remove_if(Condition condition) {
        for (T* object : std::set(live_))
            if (condition(*object)) remove(*object);
    }
    void remove_of(const Context& context) {
        remove_if([&](const T& object) { return object.context == &context; });
    }
    std::size_t size() const { return live_.size(); }
    template <class Action>
    void for_each(Action action) const {
        for (T* object : live_) action(*object);
    }
    template <class Condition>
    bool any(Condition condition) const {
        return std::any_of(live_.begin(), live_.end(), [&](const T* object) { return condition(*object); });
    }
};

/// All state of this process. Never destroyed, so that calls in a program's last destructors still work.
struct Process {
    bool initialized = false, forked = false;
    std::vector<int> visible;        // ordinal -> the server's number
    Context contexts[max_devices];   // primary
    std::vector<Context*> separate;  // includes destroyed ones, so that none gets the address of a stale handle
    Handles<Stream> streams{"stream"};
    Handles<Event> events{"event"};
    Handles<Module> modules{"module"};
    Handles<Function> functions{"function"};
};
Process& process();

/// Ends captures (0) or invalidates them (spoilt_capture), on all of their streams.
void change_captures(std::initializer_list<std::uint64_t> which, std::uint64_t into);

/// This thread's current context; null if there is none. The context below it is current again after a pop.
Context*& current();
std::vector<Context*>& below_current();

/// Marks all contexts of this process on the device as unusable, after a sticky error.
void lose(int device, cu::Result result);
/// Returns the number of the device's separate contexts that are not destroyed.
int separate_count(int device);

/// Returns the server's number of a device, or -1.
int device_of(cu::Device ordinal);
/// Returns the devices in CUDA_VISIBLE_DEVICES, by the rules observed on an H200; nullopt if it names a device twice.
std::optional<std::vector<int>> visible_devices();

}  // namespace simgpu
