// The connections of a store to one of its servers: keeps them open while they are needed, and
// reports when the server is out of reach. Belongs to the pool's thread.
#pragma once
#include <bitset>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/pool/pipeline.hpp"

namespace onceguard::redis {

class server;

/// Like pipeline_events, for all connections of a server.
class server_events {
 public:
  [[nodiscard]] virtual const known_metadata& known(std::size_t part) const noexcept = 0;
  [[nodiscard]] virtual const std::string& masters() const noexcept = 0;
  virtual void on_facts(server& server, const server_facts& facts) = 0;
  [[nodiscard]] virtual bool memory_known() const noexcept = 0;
  virtual void on_greeting(std::size_t part, const std::string& run, const greeting& greeting) = 0;
  virtual void on_generation(std::size_t part, const std::string& run,
                             std::uint64_t generation) = 0;
  virtual void on_up(server& server) = 0;                        ///< one more link is ready
  virtual void on_down(server& server, const failure& why) = 0;  ///< one was lost
  virtual void on_ended(entry ended) = 0;
  virtual void on_returned(server& server, entry back, const failure& why) = 0;
  virtual void on_redirected(server& server, entry back, const failure& why) = 0;
  virtual void on_astray(server& server) = 0;
  virtual void on_progress() = 0;

 protected:
  ~server_events() = default;
};

class server final : private pipeline_events {
 public:
  using part_set = std::bitset<keyspace::cluster_parts>;

  server(const connection_context& connections, server_events& events, const redis_params& params,
         const keyspace& names, const endpoint& endpoint, std::size_t pipelines);

  [[nodiscard]] const endpoint& at() const noexcept { return at_; }
  [[nodiscard]] server_pin pin() const { return {at_, life_}; }
  [[nodiscard]] bool durable() const noexcept { return durable_; }
  [[nodiscard]] const std::optional<failure>& last_failure() const noexcept {
    return last_failure_;
  }
  [[nodiscard]] std::optional<steady_time> out_since(std::size_t request_queue) const noexcept {
    return kept_for(request_queue).out_since;
  }
  /// Whether a connection is ready that was made before `vouched`.
  [[nodiscard]] bool usable(steady_time vouched) const noexcept;
  [[nodiscard]] bool any_ready() const noexcept;
  /// The connection of a queue; null if it is not ready, or newer than `vouched`.
  [[nodiscard]] pipeline* pipeline_for(std::size_t request_queue, steady_time vouched) noexcept;

  /// Sets whether any queue leads to this server and, in a cluster, the parts that it has now.
  void hold(bool leads, const part_set& parts) { leads_ = leads, parts_ = parts; }
  [[nodiscard]] bool leads() const noexcept { return leads_; }
  /// Greets the new parts.
  void greet_parts();
  /// A part of the store has another name now.
  void rename(std::size_t part, const std::string& name) {
    for (auto& each : pipelines_) each.on->rename(part, name);
  }

  /// The requests that name this server.
  std::deque<entry>& named() noexcept { return named_; }
  void use(steady_time now) noexcept { used_at_ = now; }

  /// Opens the closed connections that are due. Returns when the next one is due.
  steady_time open_pipelines(steady_time now);
  void flush();
  void close(const failure& why);
  /// The server is not needed any more: no connection is opened again, and idle ones are closed.
  void retire();
  [[nodiscard]] bool retired() const noexcept { return retired_; }
  void take_back() noexcept { retired_ = false; }
  [[nodiscard]] bool lingers(steady_time now) const noexcept;
  [[nodiscard]] bool gone() const noexcept;

 private:
  struct kept_pipeline {
    std::unique_ptr<pipeline> on;
    steady_time open_at{};
    std::optional<steady_time> out_since{};
    bool was_ready = false;
    std::uint32_t failures = 0;  ///< to connect, or to be greeted, in a row
  };

  [[nodiscard]] const known_metadata& known(std::size_t part) const noexcept override;
  [[nodiscard]] const std::string& masters() const noexcept override;
  void on_facts(pipeline& pipeline, const server_facts& facts) override;
  [[nodiscard]] bool memory_known() const noexcept override { return events_.memory_known(); }
  [[nodiscard]] std::vector<std::size_t> parts_of(const pipeline& pipeline) const override;
  void on_greeting(std::size_t part, const std::string& run, const greeting& greeting) override {
    events_.on_greeting(part, run, greeting);
  }
  void on_generation(std::size_t part, const std::string& run, std::uint64_t generation) override;
  void on_ready(pipeline& pipeline) override;
  void on_lost(pipeline& pipeline, const failure& why) override;
  void on_ended(entry ended) override { events_.on_ended(std::move(ended)); }
  void on_returned(pipeline& pipeline, entry back, const failure& why) override;
  void on_redirected(pipeline& pipeline, entry back, const failure& why) override;
  void on_astray(pipeline&) override { events_.on_astray(*this); }
  void on_progress(pipeline&) override { events_.on_progress(); }

  [[nodiscard]] kept_pipeline& kept(const pipeline& pipeline);
  [[nodiscard]] const kept_pipeline& kept_for(std::size_t request_queue) const noexcept {
    return pipelines_[request_queue % pipelines_.size()];
  }
  [[nodiscard]] steady_time next_try(kept_pipeline& pipeline, steady_time now) const;

  server_events& events_;
  const keyspace& names_;
  const endpoint at_;
  std::vector<kept_pipeline> pipelines_;
  part_set parts_;
  std::deque<entry> named_;
  std::string run_;
  std::uint64_t life_ = 0;
  bool durable_ = false;
  bool leads_ = false;
  bool retired_ = false;
  steady_time used_at_{};
  std::optional<failure> last_failure_;
};

}  // namespace onceguard::redis
