#include "tests/client/child.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace sbump::test {
namespace {

constexpr std::chrono::seconds kLimit{30};

struct Pipe {
  Fd read;
  Fd write;
};

Pipe MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) abort();
  return {Fd(fds[0]), Fd(fds[1])};
}

Pipe MakeTerminal() {
  int master = -1, slave = -1;
  winsize size{20, 100, 0, 0};
  if (openpty(&master, &slave, nullptr, nullptr, &size) != 0) abort();
  fcntl(master, F_SETFD, FD_CLOEXEC);
  fcntl(slave, F_SETFD, FD_CLOEXEC);
  return {Fd(master), Fd(slave)};
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

pid_t Spawn(const std::vector<std::string>& words, const std::vector<std::string>& environment,
            int in, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, words[0].c_str(), &actions, nullptr, Pointers(words).data(),
                                Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) abort();
  return pid;
}

// False at the end of the stream.
bool Append(int fd, std::string* text) {
  char buffer[64 * 1024];
  const ssize_t count = read(fd, buffer, sizeof(buffer));
  if (count <= 0) return false;  // EIO: a terminal whose last user is gone
  text->append(buffer, static_cast<size_t>(count));
  return true;
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const ChildOptions& options)
    : limit_(std::chrono::steady_clock::now() + kLimit) {
  // getenv() takes the first of two, so the test's own come first.
  std::vector<std::string> environment = options.environment;
  environment.insert(environment.end(), {"PATH=/usr/bin:/bin", "TERM=xterm", "TZ=UTC"});
  Pipe in = MakePipe();
  Pipe out = options.terminal ? MakeTerminal() : MakePipe();
  Pipe err = options.terminal ? Pipe{} : MakePipe();
  const int input = options.terminal_input ? out.write.get() : in.read.get();
  pid_ = Spawn(words, environment, input, out.write.get(),
               options.terminal ? out.write.get() : err.write.get());
  (void)!write(in.write.get(), options.standard_input.data(), options.standard_input.size());
  out_ = std::move(out.read);
  err_ = std::move(err.read);
}

Child::~Child() {
  if (pid_ > 0) Wait();
}

bool Child::ReadSome() {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  const auto left = duration_cast<milliseconds>(limit_ - std::chrono::steady_clock::now());
  if (left.count() <= 0) return false;
  pollfd fds[] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};  // negative ones are skipped
  if (!out_.valid() && !err_.valid()) return false;
  if (poll(fds, 2, static_cast<int>(left.count())) <= 0) return false;
  if (fds[0].revents != 0 && !Append(out_.get(), &result_.out)) out_.Reset();
  if (fds[1].revents != 0 && !Append(err_.get(), &result_.err)) err_.Reset();
  return true;
}

bool Child::WaitForOutput(const std::string& text) {
  while (result_.out.find(text) == result_.out.npos) {
    if (!ReadSome()) return false;
  }
  return true;
}

void Child::Type(const std::string& text) { (void)!write(out_.get(), text.data(), text.size()); }

void Child::Signal(int signal_number) { kill(pid_, signal_number); }

ChildResult Child::Wait() {
  while (ReadSome()) {
  }
  if (out_.valid() || err_.valid()) {
    result_.err += "\nkilled by the test: it took too long\n";
    kill(pid_, SIGKILL);
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  result_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return result_;
}

std::string SbumpctlPath() { return "client/sbumpctl"; }

ChildResult RunProgram(const std::vector<std::string>& words, const ChildOptions& options) {
  return Child(words, options).Wait();
}

ChildResult RunSbumpctl(const std::vector<std::string>& arguments, const ChildOptions& options) {
  std::vector<std::string> words = {SbumpctlPath()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return RunProgram(words, options);
}

}  // namespace sbump::test
