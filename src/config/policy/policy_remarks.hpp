// What is to be said of the options of one policy, each at the place where the option stands.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "config/policy/policy_options.hpp"
#include "config/table/remark.hpp"

namespace onceguard::config {

class policy_remarks {
 public:
  using names = std::initializer_list<std::string_view>;

  policy_remarks(const policy_draft& draft, remarks& out) : draft_(draft), out_(out) {}

  [[nodiscard]] origin where(std::string_view name) const;
  [[nodiscard]] bool given(std::string_view name) const {
    return where(name).where != layer::fallback;
  }
  /// Whether the value of `name` is set, and at least as specific (route before [defaults]) as
  /// `other`.
  [[nodiscard]] bool as_near_as(std::string_view name, std::string_view other) const {
    return given(name) && (where(name).of_route() || !where(other).of_route());
  }

  void fault(names about, const std::string& description) {
    say(remark::grade::fault, about, description);
  }
  void warn(names about, const std::string& description) {
    say(remark::grade::warning, about, description);
  }
  void note(names about, const std::string& description) {
    say(remark::grade::note, about, description);
  }

 private:
  /// Adds a remark about the first name, at the most specific location of all names.
  void say(remark::grade weight, names about, const std::string& description);

  const policy_draft& draft_;
  remarks& out_;
};

}  // namespace onceguard::config
