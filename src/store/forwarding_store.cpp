#include "store/forwarding_store.hpp"

namespace onceguard {
namespace {

using boost::asio::awaitable;

template <class Outcome>
awaitable<std::vector<result<Outcome>>> refuse_each(std::size_t count, error why) {
  co_return std::vector<result<Outcome>>(count, result<Outcome>(std::move(why)));
}

template <class Outcome>
awaitable<result<Outcome>> refuse(error why) {
  co_return why;
}

}  // namespace

store_traits forwarding_store::traits() const {
  const auto found = target();
  return found ? (*found)->traits() : store_traits{};
}

awaitable<std::vector<result<verdict>>> forwarding_store::claim(std::vector<onceguard::claim> batch,
                                                                milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->claim(std::move(batch), timeout)
               : refuse_each<verdict>(batch.size(), found.error());
}

awaitable<std::vector<result<settled>>> forwarding_store::settle(std::vector<settlement> batch,
                                                                 milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->settle(std::move(batch), timeout)
               : refuse_each<settled>(batch.size(), found.error());
}

awaitable<std::vector<result<bool>>> forwarding_store::extend(std::vector<extension> batch,
                                                              milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->extend(std::move(batch), timeout)
               : refuse_each<bool>(batch.size(), found.error());
}

awaitable<result<resolve_decision>> forwarding_store::resolve(resolution request,
                                                              milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->resolve(std::move(request), timeout)
               : refuse<resolve_decision>(found.error());
}

awaitable<result<import_outcome>> forwarding_store::import_record(imported_record request,
                                                                  milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->import_record(std::move(request), timeout)
               : refuse<import_outcome>(found.error());
}

awaitable<result<std::optional<record_view>>> forwarding_store::find(record_id id,
                                                                     milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->find(id, timeout) : refuse<std::optional<record_view>>(found.error());
}

awaitable<result<list_page>> forwarding_store::list(list_filter filter, std::string cursor,
                                                    std::size_t limit, milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->list(std::move(filter), std::move(cursor), limit, timeout)
               : refuse<list_page>(found.error());
}

awaitable<result<counts>> forwarding_store::count(std::string cursor, milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->count(std::move(cursor), timeout) : refuse<counts>(found.error());
}

awaitable<result<std::size_t>> forwarding_store::sweep(std::size_t limit, milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->sweep(limit, timeout) : refuse<std::size_t>(found.error());
}

awaitable<result<onceguard::vitals>> forwarding_store::vitals(milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->vitals(timeout) : refuse<onceguard::vitals>(found.error());
}

awaitable<result<void>> forwarding_store::check_writes(milliseconds timeout) {
  const auto found = target();
  return found ? (*found)->check_writes(timeout) : refuse<void>(found.error());
}

std::vector<store_number> forwarding_store::numbers() const {
  const auto found = target();
  return found ? (*found)->numbers() : std::vector<store_number>();
}

void forwarding_store::stop() {
  if (const auto found = target()) (*found)->stop();
}

}  // namespace onceguard
