#include "webhook/delivery.hpp"

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/url.hpp"

namespace onceguard::webhook {

namespace {

using location = source::location;

/// The value of a field that is sent exactly once: the service may read another one of several.
delivery_value only_field(std::span<const base::field> fields, std::string_view name) {
  delivery_value out;
  for (const auto& f : fields) {
    if (!base::same_name(f.name, name)) continue;
    if (out.text || !base::iequals(f.name, name)) return {.is_clear = false};
    out.text = base::trim(f.value);
  }
  return out;
}

delivery_value only_parameter(const std::optional<form_fields>& fields, std::string_view name) {
  if (!fields) return {.is_clear = false};
  delivery_value out;
  for (const auto& [other, text] : *fields) {
    if (other != name) continue;
    if (out.text) return {.is_clear = false};
    out.text = text;
  }
  return out;
}

delivery_value only_text(json_value found) {
  if (found.type == json_value::kind::other) return {.is_clear = false};
  if (found.type == json_value::kind::absent) return {};
  return {.text = std::move(found.text)};
}

}  // namespace

delivery_value delivery_values::find(const source& position) {
  switch (position.where) {
    case location::header:
      return only_field(arrived_.fields, position.name);
    case location::json:
      if (!json().is_valid()) return {.is_clear = false};
      return only_text(json().at(position.name));
    case location::form:
      return only_parameter(form(), position.name);
    case location::form_json: {
      const auto colon = position.name.find(':');
      const auto held = only_parameter(form(), std::string_view(position.name).substr(0, colon));
      if (!held.text) return held;
      const json_values inside(*held.text, values_max());
      if (!inside.is_valid()) return {.is_clear = false};
      return only_text(inside.at(std::string_view(position.name).substr(colon + 1)));
    }
    case location::query:
      if (!query_) query_ = parse(query().substr(query().empty() ? 0 : 1));
      return only_parameter(*query_, position.name);
    case location::signature:
    case location::signed_hash:
      break;  // no places of a delivery alone
  }
  return {.is_clear = false};
}

const json_values& delivery_values::json() {
  if (!json_) {
    json_.emplace(arrived_.body, values_max());
  }
  return *json_;
}

const std::optional<form_fields>& delivery_values::form() {
  if (!form_) form_ = parse(arrived_.body);
  return *form_;
}

std::size_t delivery_values::values_max() const noexcept {
  return trusted_ ? json_values::unlimited : unsigned_values_max;
}

std::optional<form_fields> delivery_values::parse(std::string_view text) const {
  return trusted_ ? parse_form(text) : parse_form(text, unsigned_fields_max);
}

std::string_view delivery_values::path() const {
  const auto target = arrived_.target;
  if (target.starts_with('/')) return target.substr(0, target.find('?'));
  return base::split_url(target).path;
}

std::string_view delivery_values::query() const {
  const auto begin = arrived_.target.find('?');
  return begin == std::string_view::npos ? std::string_view() : arrived_.target.substr(begin);
}

}  // namespace onceguard::webhook
