// The journal by its URL: what it is, how it is opened and examined.
#include <array>
#include <filesystem>

#include "store/journal/backup.hpp"
#include "store/journal/examine.hpp"
#include "store/journal/journal_store.hpp"
#include "store/linked_stores.hpp"

namespace onceguard {
namespace {

std::string path_of(std::string_view url) {
  return std::string(url.substr(std::min(url.size(), std::string_view("journal:").size())));
}

error damaged(const std::string& copy, const journal::checked_journal& found) {
  return error(errc::record_unreadable, copy + ": of " + std::to_string(found.keys) + " keys " +
                                            std::to_string(found.unreadable) +
                                            " have a damaged record");
}

journal::journal_params params_of(const store_params& params) {
  journal::journal_params out;
  out.path = path_of(params.url);
  out.clock = params.clock;
  return out;
}

}  // namespace

const store_kind& journal_store_kind() noexcept {
  static constexpr std::array<std::string_view, 1> schemes{"journal"};
  static const store_kind kind{
      .schemes = schemes,
      .position = 2,
      .example = "journal:/FOLDER",
      .traits = {.name = "journal", .shared = false},
      .made_when_missing = true,
      .open = [](const store_params& params) -> result<std::unique_ptr<store>> {
        auto opened = journal::journal_store::open(params_of(params));
        if (!opened) return opened.error();
        return std::unique_ptr<store>(std::move(*opened));
      },
      .file_of = path_of,
      .url_fault = [](std::string_view url) { return journal::path_fault(path_of(url)); },
      .unreadable_from_outside =
          [](const std::string& url) {
            const auto path = path_of(url);
            std::error_code failed;
            const bool there = std::filesystem::exists(path, failed);
            return there ? std::string() : path + ": there is no such folder";
          },
      .back_up = [](const store_params& params, const std::string& target) -> result<void> {
        const auto copied = journal::back_up(params_of(params), target);
        if (!copied) return copied.error();
        if (copied->unreadable == 0) return {};
        return damaged(target + ": written, but it is as damaged as the journal", *copied);
      },
      .restore = [](const store_params& params,
                    const std::string& source) -> result<store_kind::restored> {
        auto former = journal::restore(params_of(params), source);
        if (!former) return former.error();
        return store_kind::restored{path_of(params.url), std::move(*former)};
      },
      .check_copy = [](const std::string& path) -> result<std::string> {
        const auto checked = journal::check(path);
        if (!checked) return checked.error();
        if (checked->unreadable == 0) return std::to_string(checked->keys) + " keys, all readable";
        return damaged(path, *checked);
      },
      .examine = [](const store_params& params,
                    store_role) { return journal::examine(params_of(params), params.timeout); },
  };
  return kind;
}

ONCEGUARD_REGISTER_STORE(journal);

}  // namespace onceguard
