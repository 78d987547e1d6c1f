// What the tests of the middleware share: a request that arrives, and a middleware over a store in
// hand.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/http.hpp>
#include <onceguard/testing.hpp>

namespace onceguard::http {

struct arriving {
  std::string method = "POST";
  std::string target = "/payments";
  header_list headers{{"Host", "shop.example"},
                      {"Authorization", "Bearer of-alice"},
                      {"Content-Type", "application/json"},
                      {"Idempotency-Key", "\"key-1\""}};
  std::string body = R"({"amount":20})";
  std::string address = "192.0.2.1";

  std::vector<field> views;
  const request& now() {
    views.clear();
    for (const auto& [name, value] : headers) views.push_back({name, value});
    view_ = {method, target, views, address, body};
    return view_;
  }
  arriving& set(const std::string& name, std::string value) {
    remove(name);
    headers.emplace_back(name, std::move(value));
    return *this;
  }
  arriving& remove(const std::string& name) {
    std::erase_if(headers, [&](const auto& header) { return header.first == name; });
    return *this;
  }

 private:
  request view_{};
};

inline std::string value_of(const response& got, std::string_view name) {
  for (const auto& [header, value] : got.headers) {
    if (header == name) return value;
  }
  return {};
}

inline response created(std::string body) {
  return {201, {{"Location", "/payments/1"}}, std::move(body)};
}

class middleware_fixture : public ::testing::Test {
 protected:
  middleware make(middleware_params params = {}) {
    params.on_change = [this](const change& made) {
      changes.push_back(std::string(name_of(made.kind)) +
                        (made.reason.empty() ? "" : " " + std::string(made.reason)));
    };
    auto out = middleware::make(records_guard, std::move(params));
    EXPECT_TRUE(out.has_value()) << out.error().detail;
    return std::move(*out);
  }
  static middleware_params with(route_policy policy) {
    middleware_params out;
    out.routes.front().policy = std::move(policy);
    return out;
  }
  auto charge() {
    return [this] { return created("run " + std::to_string(++runs)); };
  }

  testing::store_in_hand records;
  guard records_guard = guard::open(records.open()).value();
  std::vector<std::string> changes;
  int runs = 0;
  arriving sent;
};

}  // namespace onceguard::http
