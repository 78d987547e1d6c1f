// What a record keeps of an operation in steps; docs/formats.md describes the bytes.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

struct step_done {
  std::string name;
  std::string stored;  ///< its result
  friend bool operator==(const step_done&, const step_done&) = default;
};

struct step_progress {
  std::vector<step_done> done;  ///< in their order
  /// The answer of an operation that can't be finished: from now on, its steps are compensated.
  /// Null: it goes forward.
  answer_ptr failure;
  std::size_t compensated = 0;  ///< so many of the last steps; at most all of them
};

/// At most 4 GiB for each name, result or answer.
[[nodiscard]] std::string encode_progress(const step_progress& progress);
/// The reverse of encode_progress; no bytes mean no steps. errc::record_unreadable: bytes of
/// another program or of a newer version.
[[nodiscard]] result<step_progress> decode_progress(std::string_view bytes);

}  // namespace onceguard
