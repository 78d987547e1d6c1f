// Sends one request through a driver and prints what came of it as JSON, for the black-box suites:
//   send_with curl|beast|async METHOD URL KEY BODY [CA_FILE [ATTEMPTS [TIMES]]]
// TIMES: so often with one transport; what is printed came of the last time.
// `async` sends on two threads, as a service does.
#include <iostream>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <nlohmann/json.hpp>

#include <onceguard/client_beast.hpp>
#include <onceguard/client_curl.hpp>

namespace {

using namespace onceguard::client;

onceguard::result<delivery> send_async(const request& sent, const retry_params& params,
                                       const transport_params& transport) {
  boost::asio::thread_pool threads(2);
  onceguard::result<delivery> out = delivery{};
  boost::asio::co_spawn(threads, async_send(sent, params, transport),
                        [&](std::exception_ptr thrown, onceguard::result<delivery> got) {
                          if (thrown) std::rethrow_exception(thrown);
                          out = std::move(got);
                        });
  threads.join();
  return out;
}

onceguard::result<delivery> send_by(const std::string& driver, const request& sent,
                                    const transport_params& transport, std::size_t attempts,
                                    int times) {
  retry_params params;
  params.attempts = attempts;
  params.first_wait = onceguard::milliseconds(20);
  params.attempt_timeout = onceguard::milliseconds(5'000);
  if (driver == "curl") {
    curl_transport curl(transport);
    for (; times > 1; --times) static_cast<void>(send(curl, sent, params));
    return send(curl, sent, params);
  }
  if (driver == "beast") {
    beast_transport beast(transport);
    for (; times > 1; --times) static_cast<void>(send(beast, sent, params));
    return send(beast, sent, params);
  }
  for (; times > 1; --times) static_cast<void>(send_async(sent, params, transport));
  return send_async(sent, params, transport);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const request sent{argv[2], argv[3], {{"X-Empty", ""}}, argv[5], argv[4]};
  transport_params transport;
  transport.max_answer = 100'000;
  if (argc > 6) transport.ca_file = argv[6];
  const auto got =
      send_by(argv[1], sent, transport, argc > 7 ? std::stoul(argv[7]) : retry_params().attempts,
              argc > 8 ? std::stoi(argv[8]) : 1);
  if (!got) {
    std::cerr << got.error().detail << "\n";
    return 1;
  }
  nlohmann::json out{{"end", name_of(got->end)},
                     {"attempts", got->attempts},
                     {"why", got->why},
                     {"fault", got->last.fault},
                     {"sent", got->last.sent}};
  if (got->last.answer) {
    out["status"] = got->last.answer->status;
    out["body"] = got->last.answer->body;
    out["headers"] = got->last.answer->headers;
  }
  std::cout << out << "\n";
  return 0;
}
