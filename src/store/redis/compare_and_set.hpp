// A claim, a settle or an operator's change on its way: what is sent next for it, and what the
// reply means. The state machine of include/onceguard/decide.hpp decides; a script carries out.
#pragma once
#include <optional>
#include <string>

#include <onceguard/decide.hpp>

#include "base/clock.hpp"
#include "store/compare_and_set.hpp"
#include "store/lease_cache.hpp"
#include "store/redis/commands/store_commands.hpp"

namespace onceguard::redis {

/// A record as this process has written it, for the settle of its lease.
struct cached_lease {
  stored_record stored;
  std::string begins;  ///< as a swap takes it
  base::boot_clock::time_point read_at = base::boot_now();

  /// The server's clock now, as far as this process can know.
  [[nodiscard]] stamp now() const {
    const auto since =
        std::chrono::duration_cast<std::chrono::microseconds>(base::boot_now() - read_at);
    return stored.last + static_cast<stamp>(since.count());
  }
};
using lease_cache = onceguard::lease_cache<cached_lease>;

/// What an act needs of its store.
struct act_context {
  const keyspace& names;
  lease_cache& leases;
};

/// What all kinds share (see store/compare_and_set.hpp).
class act {
 public:
  using request_type = request;
  using reading_type = reading;
  using context_type = act_context;

  act(const record_id& id, const act_context& context) : id_(id), context_(context) {}
  act(act&&) = default;
  act& operator=(act&&) = delete;
  virtual ~act() = default;

  [[nodiscard]] std::optional<request> take(const request& done);
  [[nodiscard]] const record_id& id() const noexcept { return id_; }

  // What operators are to find.
  [[nodiscard]] bool met_unknown() const noexcept { return met_unknown_; }  ///< or unreadable
  [[nodiscard]] bool left_unknown() const noexcept { return left_unknown_; }

 protected:
  [[nodiscard]] virtual std::optional<request> decide_on(const reading& seen) = 0;
  [[nodiscard]] virtual std::optional<request> meet_unreadable(const reading& seen) {
    return fail(*seen.unreadable);
  }
  /// The record that was decided on stands.
  [[nodiscard]] virtual std::optional<request> written() = 0;
  [[nodiscard]] virtual std::optional<request> fail(error why) = 0;

  void leave_answer_out() noexcept {}  // it comes with its record
  [[nodiscard]] static reading nothing_seen();
  [[nodiscard]] token first_token() const noexcept { return written_at_; }
  [[nodiscard]] static milliseconds retention_margin() noexcept { return milliseconds(0); }

  [[nodiscard]] std::optional<request> read_again() const;
  /// Decides on the lease that this process holds, or reads the record first.
  [[nodiscard]] std::optional<request> decide_on_held(token token, const claim_id& claim_id);
  /// Replaces what was seen, and remembers the new record.
  [[nodiscard]] std::optional<request> replace(const reading& seen, record stored, write_cause why);
  /// The lease of the record that was written is this process's.
  void hold();

  const record_id id_;
  const act_context context_;

 private:
  // of the record to write
  record pending_;
  stamp first_ = 0;
  std::string lease_;
  bool leaves_unknown_ = false;

  stamp written_at_ = 0;
  bool met_unknown_ = false;
  bool left_unknown_ = false;
};

using claim_act = onceguard::claim_act<act>;
using settle_act = onceguard::settle_act<act>;
using extend_act = onceguard::extend_act<act>;
using resolve_act = onceguard::resolve_act<act>;
using import_act = onceguard::import_act<act>;

}  // namespace onceguard::redis
