#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "daemon/base/str_cat.h"
#include "daemon/front/listener.h"

namespace sbump {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr int kBacklog = 256;

absl::StatusOr<std::string> SocketPath(const std::string& endpoint) {
  if (!endpoint.starts_with(kUnixPrefix) || endpoint.substr(kUnixPrefix.size(), 1) != "/") {
    return absl::InvalidArgumentError(
        StrCat("--listen ", endpoint, ": give unix:/absolute/path.sock or tcp:HOST:PORT"));
  }
  std::string path = endpoint.substr(kUnixPrefix.size());
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(StrCat("--listen ", endpoint, ": the path is longer than ",
                                             sizeof(sockaddr_un::sun_path) - 1, " bytes"));
  }
  return path;
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

// Killed, but one of its threads waits for a page that never comes (FUSE) and keeps its sockets.
bool IsKilled(pid_t pid) {
  std::ifstream file(StrCat("/proc/", pid, "/stat"));
  std::string stat;
  std::getline(file, stat);
  const size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat.compare(name_end + 2, 1, "Z") == 0;
}

bool SomebodyAnswers(const std::string& path) {
  const Fd socket_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(path);
  if (connect(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return false;
  ucred listener{};
  socklen_t size = sizeof(listener);
  return getsockopt(socket_fd.get(), SOL_SOCKET, SO_PEERCRED, &listener, &size) != 0 ||
         !IsKilled(listener.pid);
}

absl::Status ClearTheWay(const std::string& path) {
  struct stat st;
  if (lstat(path.c_str(), &st) != 0) {
    return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, StrCat("--listen ", path));
  }
  if (!S_ISSOCK(st.st_mode))
    return absl::AlreadyExistsError(
        StrCat("--listen ", path, ": a file that is no socket is there"));
  if (SomebodyAnswers(path))
    return absl::AlreadyExistsError(StrCat("another sbumpd answers on ", path));
  if (unlink(path.c_str()) != 0)
    return ErrnoStatus(errno, StrCat("removing the old socket ", path));
  return absl::OkStatus();
}

absl::Status OpenToGroup(const std::string& path, const std::string& name) {
  const group* entry = getgrnam(name.c_str());
  if (entry == nullptr)
    return absl::InvalidArgumentError(StrCat("--socket-group ", name, ": there is no such group"));
  if (chown(path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0 ||
      chmod(path.c_str(), 0660) != 0) {
    return ErrnoStatus(errno, StrCat("--socket-group ", name, ": giving it ", path,
                                     " (needs CAP_CHOWN, or the group as the daemon's own: Group= "
                                     "in its unit)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckUnixEndpoint(const std::string& endpoint) {
  return SocketPath(endpoint).status();
}

absl::StatusOr<UnixListener> UnixListener::Open(const std::string& endpoint,
                                                const std::string& group) {
  SB_ASSIGN_OR_RETURN(std::string path, SocketPath(endpoint));
  SB_RETURN_IF_ERROR(ClearTheWay(path));
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = AddressOf(path);
  const mode_t old_mask = umask(0177);
  const int bound = bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = errno;
  umask(old_mask);
  if (bound != 0) {
    return ErrnoStatus(error, StrCat("cannot listen on ", path,
                                     ": does its directory exist, and may this user write to it?"));
  }
  UnixListener listener(std::move(fd), std::move(path));
  if (!group.empty()) SB_RETURN_IF_ERROR(OpenToGroup(listener.path_, group));
  if (listen(listener.fd_.get(), kBacklog) != 0)
    return ErrnoStatus(errno, StrCat("listening on ", listener.path_));
  return listener;
}

UnixListener::~UnixListener() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace sbump
