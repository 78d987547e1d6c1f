#include "store/sqlite/examine.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

#include <sqlite3.h>

#include "store/disk_diagnosis.hpp"
#include "store/examination.hpp"
#include "store/local_disk.hpp"
#include "store/sqlite/location.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/session.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace onceguard::sqlite {
namespace {

using base::diagnosis;
using grade = diagnosis::grade;

std::string id_of(std::string_view subject) { return diagnosis_id(store_role::truth, subject); }

/// The schema's version in the head of the file, which is that of the last checkpoint.
std::optional<std::uint32_t> version_in_head(const std::string& path) {
  // fileformat2.html of SQLite's documentation, section 1.3: user version and application id.
  constexpr std::size_t version_at = 60;
  constexpr std::size_t application_at = 68;
  std::array<char, application_at + 4> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(head.data(), head.size())) return std::nullopt;
  const auto number = [&](std::size_t position) {
    std::uint32_t out = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      out = out << 8 | static_cast<unsigned char>(head.at(position + i));
    }
    return out;
  };
  if (number(application_at) != static_cast<std::uint32_t>(application_id)) return std::nullopt;
  return number(version_at);
}

diagnosis examine_file(const sqlite_params& params, const std::string& path) {
  const auto size = size_of(path);
  if (size == 0 && size_of(path + "-wal") == 0) {
    return {
        grade::ok,
        id_of("reach"),
        path + ": there is no store yet; a gateway makes it (SQLite " + sqlite3_libversion() + ")",
        {}};
  }
  if (const auto version = version_in_head(path);
      version && *version < static_cast<std::uint32_t>(schema_version)) {
    return {grade::note, id_of("reach"),
            path + ": its schema is version " + std::to_string(*version) +
                "; the next start of a gateway brings it to " + std::to_string(schema_version) +
                ", and older versions refuse it from then on",
            "make a backup first: onceguard backup FILE"};
  }
  const auto opened = session::open(params, session_use::show, if_missing::fail);
  if (!opened) return diagnose_refusal(store_role::truth, opened.error());
  return {grade::ok,
          id_of("reach"),
          path + ": opened, " + size_text(size) + ", log " + size_text(size_of(path + "-wal")) +
              " (SQLite " + sqlite3_libversion() + ")",
          {}};
}

/// sqlite.org/wal.html, "The WAL-Reset Bug". The sessions of this program avoid it (decision 0019).
void examine_version(base::diagnoses& out) {
  constexpr std::array faulty{faulty_versions{"3.7.0", "3.44.6"},
                              faulty_versions{"3.45.0", "3.50.7"},
                              faulty_versions{"3.51.0", "3.51.3"}};
  const std::string_view version = sqlite3_libversion();
  if (std::none_of(faulty.begin(), faulty.end(),
                   [&](const auto& one) { return is_faulty(version, one); })) {
    return;
  }
  out.push_back({grade::note, id_of("version"),
                 "SQLite " + std::string(version) +
                     " may lose commits when two programs checkpoint one file (its WAL-reset "
                     "bug); onceguard's own don't",
                 "let no other program open the file beside a gateway; see docs/backup/sqlite.md"});
}

}  // namespace

base::diagnoses examine(const sqlite_params& params) {
  const auto path = check_location(params.path);
  if (!path) return {diagnose_refusal(store_role::truth, path.error())};
  const auto folder = std::filesystem::path(*path).parent_path().string();
  base::diagnoses out{examine_file(params, *path), diagnose_room(folder),
                      diagnose_file_system(folder)};
  examine_version(out);
  diagnose_rights(*path, folder, out);
  // Of a file that a gateway would still make or migrate, nothing is opened for writing.
  if (out.front().level == grade::ok && size_of(*path) > 0) {
    auto looking = params;
    looking.for_people = true;  // what can't be flushed is what is found below
    if (const auto opened = sqlite_store::open(looking)) {
      out.push_back(diagnose_writes(store_role::truth, **opened, params.timeout));
    }
  }
  return out;
}

}  // namespace onceguard::sqlite
