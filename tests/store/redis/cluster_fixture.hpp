// Fixtures for Redis stores on clusters and behind sentinels that a test breaks and repairs. The
// servers are shared by all tests of a program, and every server runs again when a test ends.
#pragma once
#include <string>
#include <vector>

#include "store/contract/fault_acts.hpp"
#include "store/redis/commands/keyspace.hpp"
#include "store/redis/fixture.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_sentinels.hpp"

namespace onceguard::testing {

class redis_cluster_fixture : public redis_fixture {
 protected:
  redis_cluster_fixture() {
    cluster_.empty();
    take_for_failed_after(milliseconds(20'000));
  }
  ~redis_cluster_fixture() override {
    for (std::size_t i = 0; i < cluster_.size(); ++i) cluster_.node(i).start();
    cluster_.wait_until_whole();
  }

  /// When a node that stands still is replaced. A busy machine holds one up for seconds: it is soon
  /// only where a test wants a replica to take over.
  void take_for_failed_after(milliseconds length) const {
    for (const auto* each : cluster_.running()) {
      each->session().run(
          {"CONFIG", "SET", "cluster-node-timeout", std::to_string(length.count())});
    }
  }
  store_ptr open_cluster(const std::string& query = {}) {
    return open(params_for(cluster_.url(query)));
  }
  /// `count` claims of records that are all in one part of the store.
  static std::vector<claim> claims_in(std::size_t part, std::size_t count,
                                      const std::string& name = "k") {
    std::vector<claim> out;
    for (int i = 0; out.size() < count; ++i) {
      auto request = claim_of(name + std::to_string(i));
      if (request.id.front() == part) out.push_back(std::move(request));
    }
    return out;
  }
  int slot_of(std::size_t part) const { return names_.slot_of_part(part); }

  /// Makes `replica` take over from its master in a planned failover.
  void hand_over(redis_server& replica) {
    // The nodes abandon a failover on which they have not agreed within five seconds.
    auto ask_at = base::boot_now();
    wait_until("a replica to take over", [&] {
      if (is_master(replica)) return true;
      if (base::boot_now() < ask_at) return false;
      ask_at = base::boot_now() + std::chrono::seconds(6);
      replica.session().run({"CLUSTER", "FAILOVER"});
      return false;
    });
    cluster_.wait_until_whole();
  }

  static redis_cluster& shared_cluster() {
    static redis_cluster all;
    return all;
  }
  redis_cluster& cluster_ = shared_cluster();
  const redis::keyspace names_{"onceguard:", true};
};

}  // namespace onceguard::testing
