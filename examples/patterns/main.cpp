// A server with one resource for each pattern of docs/patterns: operations that take effect once
// without an idempotency key. With --naive, each is written as it often is, and fails.
//
//   patterns 8080 sqlite:shop.db            or postgresql://localhost/shop
//   curl -X PUT -d hello -H 'If-None-Match: *' http://127.0.0.1:8080/documents/greeting
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio.hpp>
#include <boost/beast.hpp>

#include <onceguard/beast.hpp>

#include "resources.hpp"

namespace asio = boost::asio;
namespace beast = boost::beast;
using patterns::database;
using patterns::request;
using patterns::response;

namespace {

void create(database& shop, bool naive) {
  patterns::create_counters(shop);
  patterns::create_documents(shop);
  patterns::create_orders(shop, naive);
  patterns::create_payments(shop);
  patterns::create_things(shop);
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    path.remove_prefix(1);
    out.emplace_back(path.substr(0, path.find('/')));
    path.remove_prefix(out.back().size());
  }
  return out;
}

response handle(database& shop, const request& message, bool naive) {
  const auto path = segments_of(message.target);
  const auto is = [&](std::string_view first, std::size_t count) {
    return path.size() == count && path[0] == first;
  };
  if (is("counters", 2)) return patterns::handle_counter(shop, message, path[1]);
  if (is("documents", 2)) return patterns::handle_document(shop, message, path[1], naive);
  if (is("orders", 1)) return patterns::handle_orders(shop, message, naive);
  if (is("payments", 2)) return patterns::handle_payment(shop, message, path[1], "", naive);
  if (is("payments", 3)) return patterns::handle_payment(shop, message, path[1], path[2], naive);
  if (is("movements", 1)) return patterns::list(shop, "SELECT payment FROM movements");
  if (is("things", 2)) return patterns::handle_thing(shop, message, path[1]);
  if (is("things", 1) && message.method == "POST") {
    return patterns::make_thing_naively(shop, message);
  }
  if (is("things", 1)) return patterns::list(shop, "SELECT body FROM things");
  if (is("numbered-things", 1)) return patterns::list(shop, "SELECT body FROM numbered_things");
  return {404, {}, ""};
}

void serve(asio::ip::tcp::socket client, const char* url, bool naive) {
  const auto shop = database::open(url);
  beast::flat_buffer buffer;
  for (beast::error_code failed;;) {
    onceguard::beast::request_type message;
    beast::http::read(client, buffer, message, failed);
    if (failed) break;
    auto answer = onceguard::beast::served(message, [&](const request& one) -> response {
      try {
        return handle(*shop, one, naive);
      } catch (const patterns::refused& thrown) {
        return {409, {}, thrown.what()};
      } catch (const std::exception& thrown) {
        return {500, {}, thrown.what()};
      }
    });
    beast::write(client, std::move(answer), failed);
    if (failed) break;
  }
}

}  // namespace

int main(int count, char** words) {
  const bool naive = count == 4 && std::string_view(words[3]) == "--naive";
  if (count != 3 && !naive) return std::fputs("patterns PORT URL [--naive]\n", stderr), 2;
  create(*database::open(words[2]), naive);
  asio::io_context io(1);
  const auto port = static_cast<unsigned short>(std::atoi(words[1]));
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), port});
  asio::thread_pool workers(48);
  for (beast::error_code failed;;) {
    auto client = acceptor.accept(failed);
    if (failed) {  // no descriptor is left: clients that leave give theirs back
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    asio::post(workers, [&, client = std::move(client)]() mutable {
      try {
        serve(std::move(client), words[2], naive);
      } catch (const std::exception& thrown) {
        std::fprintf(stderr, "a connection ended: %s\n", thrown.what());
      }
    });
  }
}
