// A small process beside this one that can start its successor after this one can run no program
// any more.
#pragma once
#include <span>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

#include "base/descriptor.hpp"

namespace onceguard::process {

/// The words and variables are those of its begin: whoever takes this process over can have the
/// program started as its owner did, and nothing else.
class successor_starter {
 public:
  /// Forks; before there are threads. The new process ends with this one. See successor_params.
  /// `shown`: the memory of the arguments that lists of processes show.
  [[nodiscard]] static successor_starter begin(std::vector<std::string> words,
                                               std::vector<std::string> variables,
                                               std::span<char> shown = {});
  successor_starter() = default;
  successor_starter(successor_starter&& other) noexcept
      : line_(std::move(other.line_)), process_(std::exchange(other.process_, -1)) {}
  successor_starter& operator=(successor_starter&&) = delete;
  ~successor_starter();

  /// What start_successor() does, with these sockets by their names. Blocks until it runs, for ten
  /// seconds at most: one that does not answer by then is killed, and starts nothing any more.
  [[nodiscard]] result<pid_t> start(const std::vector<std::pair<std::string, int>>& sockets);

 private:
  successor_starter(base::descriptor line, pid_t process)
      : line_(std::move(line)), process_(process) {}

  base::descriptor line_;  // not open: it could not be started
  pid_t process_ = -1;
};

}  // namespace onceguard::process
