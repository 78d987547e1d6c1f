// How the result of work becomes a stored answer, and how a repeat gets the result back.
#pragma once
#include <concepts>
#include <string>
#include <utility>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {
inline namespace v1 {

/// Specialise this for types of your own:
///   static answer encode(const T& value);            // may throw: the outcome is then unknown
///   static result<T> decode(const answer& stored);   // errc::record_unreadable: not such a value
/// onceguard/json.hpp does so for the types that nlohmann::json converts.
template <class T>
struct codec;

/// A whole answer, as it is.
template <>
struct codec<answer> {
  /// The answer itself.
  static answer encode(const answer& value) { return value; }
  /// The answer itself.
  static result<answer> decode(const answer& stored) { return stored; }
};

/// Bytes.
template <>
struct codec<std::string> {
  /// An answer of status 200 with these bytes as its body.
  static answer encode(std::string value) {
    answer out;
    out.status = 200;
    out.body = std::move(value);
    return out;
  }
  /// The body.
  static result<std::string> decode(const answer& stored) { return stored.body; }
};

/// Whether the work may return this type.
template <class T>
concept storable = requires(const T& value, const answer& stored) {
  { codec<T>::encode(value) } -> std::convertible_to<answer>;
  { codec<T>::decode(stored) } -> std::convertible_to<result<T>>;
};

}  // namespace v1
}  // namespace onceguard
