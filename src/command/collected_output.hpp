// The output of a command: in memory, and beyond a limit in a file.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/command.hpp>

#include "base/descriptor.hpp"

namespace onceguard {

/// Adds bytes to the last piece, or as a new one.
void append(std::vector<output_piece>& pieces, output_stream stream, std::string_view bytes);

/// Collects what a command writes.
class collected_output {
 public:
  /// `file`: where the output goes that `rules` has no room for in the record.
  collected_output(const command_rules& rules, std::string file);
  collected_output(const collected_output&) = delete;
  collected_output& operator=(const collected_output&) = delete;
  /// Removes the file, unless it was kept.
  ~collected_output();

  void add(output_stream stream, std::string_view bytes);
  /// Moves what is in memory into the result.
  void move_to(command_result& result);
  /// The file, if there is one, belongs to the result, and stays until `retention` is over.
  void keep_file(command_result& result, milliseconds retention);

 private:
  void write(output_stream stream, std::string_view bytes);
  void begin_file();
  void give_up_file() noexcept;

  const command_rules& rules_;
  const std::string path_;
  std::vector<output_piece> pieces_;
  std::size_t in_memory_ = 0;
  std::uint64_t in_file_ = 0;
  std::uint64_t size_ = 0;
  bool file_begun_ = false;
  base::descriptor file_;
};

/// Hands over all that was kept of the output. False: a part of it is missing.
[[nodiscard]] bool show(const command_result& kept,
                        const std::function<void(output_stream, std::string_view)>& take);

/// Removes the files of the directory whose time is over.
void sweep_output_files(const std::string& folder) noexcept;

}  // namespace onceguard
