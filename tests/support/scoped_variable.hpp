// The environment's variables for as long as a test lasts.
#pragma once
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace onceguard::testing {

/// A variable of the environment; nullopt: it is not set.
class scoped_variable {
 public:
  scoped_variable(std::string name, const std::optional<std::string>& value)
      : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    set(value);
  }
  scoped_variable(const scoped_variable&) = delete;
  scoped_variable& operator=(const scoped_variable&) = delete;
  ~scoped_variable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace onceguard::testing
