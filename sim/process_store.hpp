// The store as one process has opened it: the remote one, or a tiered store over two of them.
#pragma once
#include <memory>

#include "remote_store.hpp"
#include "store/tiered/tiered_store.hpp"

namespace onceguard::sim {

/// Where the records are, and what each process needs to reach them.
struct store_machines {
  store_host* truth = nullptr;
  store_host* front = nullptr;  ///< null: there is no accelerator
  machine* monitor = nullptr;   ///< the thread of the process that polls both
  bool with_holders = true;     ///< who runs under a lease is in the process that has claimed it
};

class process_store {
 public:
  process_store(world& around, machine& node, const store_machines& stores,
                bool replays_without_truth);
  ~process_store();
  process_store(const process_store&) = delete;
  process_store& operator=(const process_store&) = delete;

  [[nodiscard]] store& get() noexcept { return *opened_; }

 private:
  world& world_;
  machine* const monitor_;
  std::unique_ptr<store> opened_;
};

}  // namespace onceguard::sim
