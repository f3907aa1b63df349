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
    int references = 0;  // of a separate one: 1 until it is destroyed
    bool separate = false;
    cu::Result lost = cu::success;  // after a sticky error: what everything returns, for as long as the process lives
    cu::Result pending = cu::success;  // of an operation, not sticky: what the next synchronisation returns
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
    std::string code;  // what is searched for a kernel's name; empty: a simulated image, which has them all
};

struct Function {
    Context* context;
    const Module* module;
    const glint::gpu::SimulatedKernel* kernel;
    std::string name;
    int max_dynamic_shared = 48 * 1024;
};

/// Handles of one kind that are valid now. Using another one ends the program: a real driver may crash, or worse.
/// Objects are never freed, so that no later one gets the address of a handle that is stale.
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

/// Everything of this process. Never destroyed, so that calls in a program's last destructors find it.
struct Process {
    bool initialized = false, forked = false;
    std::vector<int> visible;        // ordinal -> the server's number
    Context contexts[max_devices];   // primary
    std::vector<Context*> separate;  // destroyed ones too, so that no later one gets the address of a stale handle
    Handles<Stream> streams{"stream"};
    Handles<Event> events{"event"};
    Handles<Module> modules{"module"};
    Handles<Function> functions{"function"};
};
Process& process();

/// Ends captures (0) or spoils them (spoilt_capture), on all streams that are part of them.
void change_captures(std::initializer_list<std::uint64_t> which, std::uint64_t into);

/// This thread's context; null: none. Those below it come back when it is popped.
Context*& current();
std::vector<Context*>& below_current();

/// After a sticky error: all contexts of this process on the device are useless.
void lose(int device, cu::Result result);
/// Its separate contexts that are not destroyed.
int separate_count(int device);

/// The server's number of a device, or -1.
int device_of(cu::Device ordinal);
/// The devices in CUDA_VISIBLE_DEVICES, by the rules observed on an H200; nullopt if it names a device twice.
std::optional<std::vector<int>> visible_devices();

}  // namespace simgpu
