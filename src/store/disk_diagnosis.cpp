#include "store/disk_diagnosis.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>

#include "store/examination.hpp"
#include "store/local_disk.hpp"

namespace onceguard {
namespace {

using base::diagnosis;
using grade = diagnosis::grade;

constexpr std::int64_t little_room = 256 << 20;  // of the logs and some hours of records

std::string id_of(std::string_view subject) { return diagnosis_id(store_role::truth, subject); }

}  // namespace

diagnosis diagnose_room(const std::string& folder) {
  const auto volume = volume_of(folder);
  if (volume.room < 0) {
    return {grade::note, id_of("room"), folder + ": the system does not report its free room", {}};
  }
  const auto text =
      folder + ": " + size_text(volume.room) + " of " + size_text(volume.size) + " are free";
  if (volume.room >= little_room && volume.room >= volume.size / 20) {
    return {grade::ok, id_of("room"), text, {}};
  }
  return {grade::warning, id_of("room"), text,
          "make room: a full volume refuses new claims with 503 (docs/operations.md)"};
}

diagnosis diagnose_file_system(const std::string& folder) {
  constexpr std::uint32_t tmpfs = 0x01021994;
  constexpr std::uint32_t ramfs = 0x858458f6;
  constexpr std::uint32_t overlay = 0x794c7630;
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return {};
  switch (static_cast<std::uint32_t>(system.f_type)) {
    case tmpfs:
    case ramfs:
      return {grade::warning, id_of("file-system"),
              folder + " lies in memory: a reboot loses every record", "take a disk"};
    case overlay:
      return {grade::warning, id_of("file-system"),
              folder + " is a layer of a container: its end loses every record",
              "mount a volume there"};
    default:
      return {grade::ok, id_of("file-system"), folder + " is on a local disk", {}};
  }
}

void diagnose_rights(const std::string& path, const std::string& folder, base::diagnoses& out) {
  struct ::stat file {};
  struct ::stat parent {};
  if (::stat(path.c_str(), &file) != 0 || ::stat(folder.c_str(), &parent) != 0) return;
  const bool open = (file.st_mode & S_IROTH) != 0 && (parent.st_mode & S_IXOTH) != 0;
  if (!open) {
    return out.push_back({grade::ok, id_of("rights"), path + " is not for every user to read", {}});
  }
  out.push_back(
      {grade::note, id_of("rights"),
       path + ": every user of this machine can read the stored answers",
       "chmod o-x the directory, or start the gateway with umask 027 (UMask= of systemd)"});
}

}  // namespace onceguard
