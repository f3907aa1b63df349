// Things that several threads share, each of which one thread at a time has.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace glint {

template <class T>
class Pool {
  public:
    void add(std::unique_ptr<T> thing) { all_.push_back(std::move(thing)), free_.push_back(all_.back().get()); }
    const std::vector<std::unique_ptr<T>>& all() const { return all_; }

    /// Waits until one is free, and calls use(thing).
    template <class Use>
    void with_one(const Use& use) {
        T* const thing = take();
        const std::shared_ptr<T> borrowed(thing, [this](T* back) { put_back(back); });  // also when `use` throws
        use(*thing);
    }

  private:
    T* take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !free_.empty(); });
        T* const thing = free_.back();
        free_.pop_back();
        return thing;
    }
    void put_back(T* thing) {
        const std::lock_guard lock(mutex_);
        free_.push_back(thing);
        changed_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::unique_ptr<T>> all_;
    std::vector<T*> free_;
};

}  // namespace glint
