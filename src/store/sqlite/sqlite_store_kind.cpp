// The embedded store by its URL: what it is, how it is opened and examined.
#include <filesystem>

#include "store/linked_stores.hpp"
#include "store/sqlite/application_store.hpp"
#include "store/sqlite/backup.hpp"
#include "store/sqlite/examine.hpp"
#include "store/sqlite/key_index.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace onceguard {
namespace {

std::string path_of(std::string_view url) {
  return std::string(url.substr(std::min(url.size(), std::string_view("sqlite:").size())));
}

sqlite::sqlite_params params_of(const store_params& params) {
  // To move a log takes three flushes, and to begin another one two.
  constexpr std::int64_t short_log = 256 * 1'024;
  return {.path = path_of(params.url),
          .timeout = params.timeout,
          .clock = params.clock,
          .keep_log_below = params.for_a_moment ? short_log : 0,
          .for_people = params.for_people};
}

}  // namespace

const store_kind& sqlite_store_kind() noexcept {
  static constexpr std::array<std::string_view, 1> schemes{"sqlite"};
  static const store_kind kind{
      .schemes = schemes,
      .position = 1,
      .example = "sqlite:PATH",
      .traits = {.name = "sqlite"},
      .made_when_missing = true,
      .open = [](const store_params& params) -> result<std::unique_ptr<store>> {
        if (params.of_application && sqlite::has_application_records(path_of(params.url))) {
          return sqlite::open_application_store(params_of(params));
        }
        auto opened = sqlite::sqlite_store::open(params_of(params));
        if (!opened) return opened.error();
        return std::unique_ptr<store>(std::move(*opened));
      },
      .file_of = path_of,
      .url_fault =
          [](std::string_view url) {
            return std::string(path_of(url).empty() ? "expected a path after \"sqlite:\"" : "");
          },
      .unreadable_from_outside =
          [](const std::string& url) {
            const auto path = path_of(url);
            std::error_code failed;
            const bool there = std::filesystem::exists(path, failed);
            return there ? std::string() : path + ": there is no such file";
          },
      .back_up =
          [](const store_params& params, const std::string& target) {
            return sqlite::back_up(params_of(params), target);
          },
      .restore = [](const store_params& params,
                    const std::string& source) -> result<store_kind::restored> {
        auto former = sqlite::restore(params_of(params), source);
        if (!former) return former.error();
        return store_kind::restored{path_of(params.url), std::move(*former)};
      },
      .check_copy = [](const std::string& path) { return sqlite::check_copy(path); },
      .index_keys = [](const store_params& params,
                       bool drop) { return sqlite::index_keys(params_of(params), drop); },
      .examine = [](const store_params& params,
                    store_role) { return sqlite::examine(params_of(params)); },
  };
  return kind;
}

ONCEGUARD_REGISTER_STORE(sqlite);

}  // namespace onceguard
