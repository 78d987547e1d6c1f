// What this process knows of the parts of a store: the metadata of each, by which a loss of memory
// is noticed, the masters, and the server's clock. Belongs to the pool's thread, except where it
// says otherwise.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/grant_gate.hpp"
#include "store/redis/commands/store_commands.hpp"
#include "store/redis/pool/server_facts.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::redis {

class known_parts {
 public:
  known_parts(const address& address, const redis_params& params, std::size_t parts)
      : address_(address), params_(params), parts_(parts) {}

  [[nodiscard]] const known_metadata& operator[](std::size_t part) const { return parts_[part]; }
  /// What the polls of the vitals report to, and what decides whether leases may be granted. From
  /// any thread.
  [[nodiscard]] grant_gate& gate() noexcept { return gate_; }

  /// Of a new connection to a server in this run.
  void take_greeting(std::size_t part, const std::string& run, const greeting& greeting);
  /// A batch was counted in the part.
  void take_generation(std::size_t part, const std::string& run, std::uint64_t generation);
  /// A poll has just read this name, and has reported the loss that it stands for. False: nothing
  /// changes, because the name is the known one, or that of another identity, which is for a
  /// greeting to find out.
  [[nodiscard]] bool rename(std::size_t part, const std::string& name);
  void log_loss_at_restart(const server_facts& facts);
  /// Takes note of a server's clock, which was read just now. From any thread.
  void read_clock(std::int64_t server_now);

  /// The servers that are masters now, separated by commas. Empty: there is one server only.
  std::string masters;

 private:
  const address& address_;
  const redis_params& params_;
  std::vector<known_metadata> parts_;
  grant_gate gate_;
  std::string loss_logged_;
  std::mutex clock_;  // guards the members below
  std::optional<wall_guard> wall_;
  bool clock_distrusted_ = false;
};

}  // namespace onceguard::redis
