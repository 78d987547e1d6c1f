// The upstreams of the file's tables [[upstream]] and of `--upstream`.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/routing.hpp"

namespace onceguard::config {

class upstreams {
 public:
  /// Reads all of them. `out` gets what is wrong with them, or worth a word.
  upstreams(const routing_input& input, remarks& out);

  /// The position of the upstream that a route names at `position`; an empty name: the first.
  [[nodiscard]] std::size_t find(const std::string& name, const origin& position);
  [[nodiscard]] std::vector<gateway::upstream_params> take() && { return std::move(list_); }

 private:
  void read_tables();
  void take_flag();
  void add(std::string name, std::string identity, std::string_view url,
           const tls::client_files& files, const origin& position);
  /// The files are read here, so that one that can't be used is a fault of the configuration, and
  /// SIGHUP reads them again.
  void take_tls(const tls::client_files& files, const origin& position, base::endpoint& address);
  void warn_of_end(const std::string& certificate, const origin& position);
  void fault(const origin& origin, std::string description);
  [[nodiscard]] origin at(const node& n) const;
  [[nodiscard]] std::size_t index_of(std::string_view name) const;
  [[nodiscard]] std::size_t faults() const;

  const routing_input& input_;
  remarks& out_;
  std::vector<gateway::upstream_params> list_;
  std::size_t mentioned_ = 0;       // all upstreams of the file, including faulty ones
  std::vector<std::string> names_;  // names of upstreams, including faulty ones
};

}  // namespace onceguard::config
