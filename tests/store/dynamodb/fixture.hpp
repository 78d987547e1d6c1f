// Stores on a fresh table of the stand-in, each a process with clocks of its own.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/dynamodb/table.hpp"

namespace onceguard::testing {

class dynamodb_fixture : public ::testing::Test {
 protected:
  using store_ptr = std::unique_ptr<dynamodb::dynamodb_store>;

  dynamodb_fixture() { make_dynamodb_table(url()); }

  /// One process: a store and its clocks.
  struct store_process {
    store_process(const std::string& url, std::int64_t wall, milliseconds margin) : clock(wall) {
      dynamodb::dynamodb_params params;
      params.url = url;
      params.clock = &clock;
      params.timeout = milliseconds(10'000);
      params.retention_margin = margin;
      records = open_dynamodb(params);
      caller.emplace(*records);
    }
    base::manual_clock clock;
    store_ptr records;
    std::optional<blocking_store> caller;
  };
  /// `wall`: what its clocks show.
  [[nodiscard]] std::unique_ptr<store_process> begin(std::int64_t wall = beginning,
                                                     milliseconds margin = milliseconds(0)) const {
    return std::make_unique<store_process>(url(), wall, margin);
  }

  [[nodiscard]] std::string url() const { return server_.url(table_); }
  [[nodiscard]] static dynamodb::dynamodb_params params_for(const std::string& url,
                                                            milliseconds timeout) {
    dynamodb::dynamodb_params out;
    out.url = url;
    out.timeout = timeout;
    return out;
  }
  /// The whole table, as JSON.
  [[nodiscard]] std::string scan() const {
    return server_.ask("Scan", R"({"TableName":")" + table_ + "\"}");
  }
  [[nodiscard]] std::string named(const std::string& rest = {}) const {
    return R"({"TableName":")" + table_ + "\"" + rest + "}";
  }

  static constexpr std::int64_t beginning = 1'700'000'000'000;
  dynamodb_server& server_ = shared_dynamodb();
  const std::string table_ = server_.new_table();
};

}  // namespace onceguard::testing
