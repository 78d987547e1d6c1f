// A person who settles what is unknown: looks at the record, at the application's upstream, and
// says what happened.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "remote_store.hpp"
#include "upstream.hpp"

namespace onceguard::sim {

class person {
 public:
  person(world& around, machine& node, store_host& records, upstream& service, const scene& played);
  ~person();
  person(const person&) = delete;
  person& operator=(const person&) = delete;

  /// Of each key that is unknown now, and that nobody else will settle. `hasty`: without waiting
  /// until the work is over for certain; the store has to refuse that.
  void settle_unknown(bool hasty = false);
  /// Of each key that is held: what is completed shall run again.
  void release_completed();

 private:
  void for_held_keys(boost::asio::awaitable<void> (person::*act)(const scene_key&, bool),
                     bool hasty);
  boost::asio::awaitable<void> settle(const scene_key& key, bool hasty);
  boost::asio::awaitable<void> release(const scene_key& key, bool hasty);
  [[nodiscard]] token last_completed(std::uint16_t key) const;

  world& world_;
  machine& node_;
  upstream& upstream_;
  const scene& scene_;
  remote_store records_;
};

}  // namespace onceguard::sim
