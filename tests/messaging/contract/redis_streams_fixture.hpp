// A stream of Redis of each test's own, and what the tests of its consumers share.
#pragma once
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/contract/redis_streams_broker.hpp"

namespace onceguard::testing {

class redis_streams_test : public ::testing::Test {
 protected:
  using consumer_ptr = std::unique_ptr<messaging::consumer>;
  static constexpr milliseconds patience{20'000};

  [[nodiscard]] static redis_streams_server& server() {
    static redis_streams_server one;
    return one;
  }

  [[nodiscard]] std::string consumer_url(const std::string& more = "&hold=1s") const {
    return server().url(stream_) + "?group=workers" + more;
  }
  [[nodiscard]] static messaging::broker_params params_of(const std::string& url,
                                                          std::size_t in_flight = 64) {
    messaging::broker_params out;
    out.url = url;
    out.in_flight = in_flight;
    return out;
  }
  [[nodiscard]] consumer_ptr open(const std::string& more = "&hold=1s",
                                  std::size_t in_flight = 64) const {
    auto opened = messaging::open_consumer(params_of(consumer_url(more), in_flight));
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  [[nodiscard]] static error refusal_of(const std::string& url) {
    return messaging::open_consumer(params_of(url)).error();
  }
  [[nodiscard]] result<void> publish(const std::vector<messaging::message>& batch,
                                     const std::string& query = {}) const {
    auto opened = messaging::open_publisher(params_of(server().url(stream_) + query));
    if (!opened) return opened.error();
    return (*opened)->publish(batch);
  }
  [[nodiscard]] static messaging::message text_message(std::string payload) {
    messaging::message out;
    out.payload = std::move(payload);
    return out;
  }
  void publish_text(const std::string& payload) const {
    const auto sent = publish({text_message(payload)});
    if (!sent) throw std::runtime_error(sent.error().detail);
  }

  [[nodiscard]] static std::vector<messaging::delivery> take(messaging::consumer& receiver,
                                                             std::size_t most, milliseconds wait) {
    auto got = receiver.receive(most, wait);
    if (!got) throw std::runtime_error(got.error().detail);
    return std::move(*got);
  }
  [[nodiscard]] static messaging::delivery take_one(messaging::consumer& receiver) {
    auto got = take(receiver, 1, patience);
    if (got.size() != 1) throw std::runtime_error("no delivery came");
    return std::move(got.front());
  }
  [[nodiscard]] static std::vector<messaging::delivery> take_all(messaging::consumer& receiver,
                                                                 std::size_t count) {
    std::vector<messaging::delivery> out;
    const auto until = base::boot_now() + patience;
    while (out.size() < count && base::boot_now() < until) {
      for (auto& one : take(receiver, count - out.size(), milliseconds(500))) {
        out.push_back(std::move(one));
      }
    }
    return out;
  }
  static void expect_lost(messaging::consumer& former, std::uint64_t tag) {
    EXPECT_EQ(former.acknowledge(tag).error().code, errc::not_found);
    EXPECT_EQ(former.extend(tag).error().code, errc::not_found);
    EXPECT_EQ(former.give_back(tag, milliseconds(0)).error().code, errc::not_found);
  }

  /// As a consumer that is killed: it receives everything, and nothing comes of it.
  void receive_as(const std::string& name) const {
    server().session().run({"XREADGROUP", "GROUP", "workers", name, "STREAMS", stream_, ">"});
  }
  /// As if the consumer had done nothing about the entry for an hour.
  void grow_idle(const std::string& consumer, const std::string& entry) const {
    run({"XCLAIM", stream_, "workers", consumer, "0", entry, "IDLE", "3600000", "JUSTID"});
  }
  static std::string run(const std::vector<std::string>& words) {
    return server().session().run(words);
  }
  /// How many entries are pending in the group.
  [[nodiscard]] std::string pending() const {
    return server().session().list({"XPENDING", stream_, "workers"}).front();
  }
  /// The id of the first of them.
  [[nodiscard]] std::string first_pending() const {
    return server().session().list({"XPENDING", stream_, "workers"}).at(1);
  }
  /// The names of the group's consumers.
  [[nodiscard]] std::vector<std::string> consumers() const {
    const auto names = run({"EVAL",
                            "local out = {} "
                            "for _, row in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], "
                            "'workers')) do out[#out + 1] = row[2] end "
                            "return table.concat(out, ' ') .. ' '",
                            "1", stream_});
    std::vector<std::string> out;
    for (std::size_t begin = 0; begin < names.size();) {
      const auto end = names.find(' ', begin);
      if (end > begin) out.push_back(names.substr(begin, end - begin));
      begin = end + 1;
    }
    return out;
  }
  [[nodiscard]] bool has_consumer(const std::string& beginning) const {
    const auto all = consumers();
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& name) { return name.starts_with(beginning); });
  }

  const test_queue queue_ = server().make_queue();
  const std::string stream_ = queue_.publisher_url.substr(queue_.publisher_url.rfind('/') + 1);
};

}  // namespace onceguard::testing
