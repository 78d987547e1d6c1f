// What an operator sends with an act on a record: parsed and checked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "store/record_filter.hpp"

namespace onceguard::admin {

enum class act : std::uint8_t {
  release,   ///< it did not take effect: the key is free
  complete,  ///< it took effect
  erase,     ///< forget the record whatever it says, an answer too
};
[[nodiscard]] std::string_view name_of(act which) noexcept;

struct resolve_request {
  std::string reason;
  bool dry_run = false;
  bool force = false;
  /// After a completed record has changed: until no process serves its answer from memory.
  bool wait = true;
  /// Of one record: what is completed by then stays as it is. A release always does that.
  bool keep_completed = false;
  onceguard::token token = 0;              ///< of the lease that was seen; 0: any
  std::optional<std::int64_t> revision{};  ///< of the record that was seen; none: any
  answer_ptr answer;                       ///< complete: null if none was given
  /// Of a record that can't be read, if its caller knows them.
  std::optional<std::string> key;
  std::optional<digest> scope;
};

/// An act on all records of a page that fit a filter.
struct selection_request {
  static constexpr std::size_t limit_usual = 100;
  static constexpr std::size_t limit_max = 1'000;
  resolve_request act;  ///< dry_run: true unless it is given
  record_filter filter;
  std::string cursor;  ///< as given
  std::size_t limit = limit_usual;
};

// These read the JSON object of a request. The error says which member is wrong.

[[nodiscard]] result<resolve_request> read_act(std::string_view json, act which);
[[nodiscard]] result<selection_request> read_selection(std::string_view json, act which);

}  // namespace onceguard::admin
