// A Redis Cluster of the tests' own: masters and a replica of each, on free ports.
#pragma once
#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/redis/topology/cluster_text.hpp"
#include "support/redis_fleet.hpp"

namespace onceguard::testing {

class redis_cluster {
 public:
  static constexpr std::size_t masters = 3;
  static constexpr int slots = 16'384;

  /// `clock`: of all of them; null: the machine's, and what is down is noticed after two seconds.
  explicit redis_cluster(std::shared_ptr<const server_clock> clock = nullptr, bool replicas = true)
      : clock_(std::move(clock)) {
    for (std::size_t i = 0; i < (replicas ? 2 * masters : masters); ++i) add_node();
    for (std::size_t i = 0; i < masters; ++i) {
      const auto first = slots * static_cast<int>(i) / static_cast<int>(masters);
      const auto next = slots * static_cast<int>(i + 1) / static_cast<int>(masters);
      nodes_[i]->session().run(
          {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(next - 1)});
    }
    for (std::size_t i = 1; i < nodes_.size(); ++i) meet(*nodes_[i], buses_[i]);
    for (std::size_t i = masters; i < nodes_.size(); ++i) {
      wait_until("a node to know its master", [&] {
        nodes_[i]->session().run({"CLUSTER", "REPLICATE", id_of(*nodes_[i - masters])});
        return true;
      });
    }
    wait_until_whole();
  }

  [[nodiscard]] std::string url(const std::string& query = {}) const {
    std::string out = "redis+cluster://";
    for (const auto& each : nodes_) {
      out += (each == nodes_.front() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(each->port());
    }
    return out + (query.empty() ? "" : "?" + query);
  }
  [[nodiscard]] redis_server& node(std::size_t i) { return *nodes_.at(i); }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] std::vector<redis_server*> running() const {
    std::vector<redis_server*> out;
    for (const auto& each : nodes_) {
      if (each->running()) out.push_back(each.get());
    }
    return out;
  }
  /// Those that are masters now.
  [[nodiscard]] std::vector<redis_server*> current_masters() const {
    auto out = running();
    std::erase_if(out, [](const redis_server* each) { return !is_master(*each); });
    return out;
  }
  /// As the node itself says.
  [[nodiscard]] static bool has(const redis_server& node, int slot) {
    for (const auto& line : redis::read_nodes(node.session().run({"CLUSTER", "NODES"}))) {
      for (const auto& [first, last] : line.slots) {
        if (line.myself && first <= slot && slot <= last) return true;
      }
    }
    return false;
  }
  /// Who has that slot now.
  [[nodiscard]] redis_server& owner_of(int slot) const {
    for (auto* each : current_masters()) {
      if (has(*each, slot)) return *each;
    }
    throw std::runtime_error("no node has the slot " + std::to_string(slot));
  }
  [[nodiscard]] redis_server& replica_of(const redis_server& master) const {
    const auto id = id_of(master);
    for (auto* each : running()) {
      const auto nodes = each->session().run({"CLUSTER", "NODES"});
      const auto self = nodes.find("myself,slave " + id);
      if (self != std::string::npos) return *each;
    }
    throw std::runtime_error("a master without a replica");
  }

  [[nodiscard]] static std::string id_of(const redis_server& node) {
    return node.session().run({"CLUSTER", "MYID"});
  }
  void add_node() {
    buses_.push_back(free_port());
    redis_settings settings{"--cluster-enabled",
                            "yes",
                            "--cluster-port",
                            std::to_string(buses_.back()),
                            "--cluster-node-timeout",
                            clock_ ? "1000000000000" : "2000",
                            "--cluster-replica-validity-factor",
                            "0",
                            "--cluster-allow-replica-migration",
                            "no"};
    settings.insert(settings.end(), patient_replication.begin(), patient_replication.end());
    nodes_.push_back(std::make_unique<redis_server>(settings, clock_));
    nodes_.back()->session().run({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(nodes_.size())});
  }
  void meet(const redis_server& one, int bus) const {
    nodes_.front()->session().run(
        {"CLUSTER", "MEET", "127.0.0.1", std::to_string(one.port()), std::to_string(bus)});
  }
  /// One more master, without slots, that all know.
  redis_server& join() {
    add_node();
    meet(*nodes_.back(), buses_.back());
    wait_until_whole();
    return *nodes_.back();
  }

  /// All run, know one another, and the replicas are attached. All see the same masters and slots:
  /// a master that has just come back takes itself for one for a moment, without its data.
  void wait_until_whole() const {
    std::int64_t now = 1'700'000'000'000;
    wait_until("a whole cluster", [&] {
      if (clock_) clock_->set(now += 100);  // a node counts for little in its first two seconds
      std::optional<roles> seen;
      for (const auto& each : nodes_) {
        const auto reply = each->session().run({"CLUSTER", "INFO"});
        if (!has_line(reply, "cluster_state:ok")) return false;
        if (!has_line(reply, "cluster_known_nodes:" + std::to_string(nodes_.size()))) return false;
        const auto nodes = each->session().run({"CLUSTER", "NODES"});
        if (nodes.find("fail") != std::string::npos) return false;
        if (nodes.find("handshake") != std::string::npos) return false;
        auto sees = roles_in(nodes);
        if (seen && *seen != sees) return false;
        seen = std::move(sees);
        if (!is_master(*each) && !is_attached(*each)) return false;
      }
      return true;
    });
  }

  /// Is it a master, and of which slots? Of each node, by its id.
  using roles = std::map<std::string, std::pair<bool, decltype(redis::node_entry::slots)>>;
  [[nodiscard]] static roles roles_in(std::string_view nodes) {
    roles out;
    for (const auto& line : redis::read_nodes(nodes)) out[line.id] = {line.master, line.slots};
    return out;
  }

  /// A slot on its way: the node that it leaves, and the node that it goes to.
  struct moving {
    int slot;
    redis_server& source;
    redis_server& target;
  };
  [[nodiscard]] moving begin_move(int slot, redis_server& server) const {
    auto& source = owner_of(slot);
    const auto text = std::to_string(slot);
    server.session().run({"CLUSTER", "SETSLOT", text, "IMPORTING", id_of(source)});
    source.session().run({"CLUSTER", "SETSLOT", text, "MIGRATING", id_of(server)});
    return {slot, source, server};
  }
  /// Some of its names go over; false: none was left.
  static bool move_names(const moving& move, std::size_t most) {
    auto source = move.source.session();
    const auto names =
        source.list({"CLUSTER", "GETKEYSINSLOT", std::to_string(move.slot), std::to_string(most)});
    for (const auto& name : names) {
      source.run({"MIGRATE", "127.0.0.1", std::to_string(move.target.port()), name, "0", "5000"});
    }
    return !names.empty();
  }
  void end_move(const moving& move) const {
    while (move_names(move, 100)) {
    }
    const auto text = std::to_string(move.slot);
    const auto id = id_of(move.target);
    // With the slot it takes an epoch above all that it knows of. Were that below the old owner's,
    // what that one said before would count: nobody would have the slot, and its keys be deleted.
    wait_until("the epochs to be known", [&] { return knows_all_epochs(move.target); });
    move.target.session().run({"CLUSTER", "SETSLOT", text, "NODE", id});
    move.source.session().run({"CLUSTER", "SETSLOT", text, "NODE", id});
  }
  void move(int slot, redis_server& server) const {
    if (&owner_of(slot) != &server) end_move(begin_move(slot, server));
  }

  /// Forgets all records, and what was loaded.
  void empty() const {
    for (auto* each : current_masters()) {
      each->session().run({"FLUSHALL"});
      each->session().run({"FUNCTION", "FLUSH"});
    }
  }

 private:
  /// A figure of CLUSTER INFO.
  static long long reported(const redis_server& node, const std::string& name) {
    const auto reply = node.session().run({"CLUSTER", "INFO"});
    return std::stoll(reply.substr(reply.find(name + ":") + name.size() + 1));
  }
  bool knows_all_epochs(const redis_server& node) const {
    const auto known = reported(node, "cluster_current_epoch");
    const auto each = running();
    return std::all_of(each.begin(), each.end(), [&](const redis_server* other) {
      return reported(*other, "cluster_my_epoch") <= known;
    });
  }

  const std::shared_ptr<const server_clock> clock_;
  std::vector<int> buses_;
  std::vector<std::unique_ptr<redis_server>> nodes_;
};

}  // namespace onceguard::testing
