// The shop's database: SQLite or PostgreSQL. What the order does is the same on both.
#pragma once
#include <memory>
#include <string>

#include <onceguard/execute.hpp>

class shop {
 public:
  shop() = default;
  shop(const shop&) = delete;
  shop& operator=(const shop&) = delete;
  virtual ~shop() = default;

  /// Returns the first value of the first row; empty: there is none. Throws std::exception.
  virtual std::string run(const std::string& sql) = 0;
  /// onceguard::sqlite::execute_steps or onceguard::postgres::execute_steps.
  virtual onceguard::result<onceguard::verdict> execute_steps(
      const onceguard::request& request, const onceguard::execute_policy& policy,
      const onceguard::steps_work& work) = 0;
};

/// A path is that of a SQLite file; postgresql://… is a server. Throws std::runtime_error.
std::unique_ptr<shop> open_shop(const std::string& database);

/// The text as a literal of SQL.
std::string quoted(const std::string& text);
