// Results of work as JSON: for every type that nlohmann::json converts in both directions.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

#include <onceguard/codec.hpp>

namespace onceguard {
inline namespace v1 {

/// What nlohmann::json converts in both directions.
template <class T>
concept json_convertible = requires(const T& value, const nlohmann::json& json) {
  nlohmann::json(value);
  { json.template get<T>() } -> std::convertible_to<T>;
};

/// The value as JSON text.
template <json_convertible T>
struct codec<T> {
  /// An answer of status 200 with the value as JSON.
  static answer encode(const T& value) {
    answer out;
    out.status = 200;
    out.headers.emplace_back("Content-Type", "application/json");
    out.body = nlohmann::json(value).dump();
    return out;
  }
  /// errc::record_unreadable: the body is no JSON of this type.
  static result<T> decode(const answer& stored) {
    try {
      return nlohmann::json::parse(stored.body).template get<T>();
    } catch (const nlohmann::json::exception& wrong) {
      return error(errc::record_unreadable,
                   std::string("the stored answer is no JSON of this type: ") + wrong.what());
    }
  }
};

}  // namespace v1
}  // namespace onceguard
