// The real sbumpctl as a child process, on pipes or on a pseudo-terminal. Nothing waits for ever: a
// child that takes longer than its limit is killed, and says so.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "daemon/base/fd.h"

namespace sbump::test {

struct ChildOptions {
  std::vector<std::string> environment;  // "NAME=value", besides PATH and TERM
  bool terminal = false;                 // standard output and error are a terminal of 100 x 20
  bool terminal_input = false;           // and standard input is it, too
  std::string standard_input;            // small
};

struct ChildResult {
  int exit_code = -1;  // minus the signal's number where one killed it
  std::string out;     // a terminal's carries standard error too
  std::string err;
};

class Child {
 public:
  // `words` begins with the program's path.
  Child(const std::vector<std::string>& words, const ChildOptions& options);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads until standard output holds `text`. False when the child ended or the limit was reached
  // first.
  bool WaitForOutput(const std::string& text);
  // On its terminal.
  void Type(const std::string& text);
  void Signal(int signal_number);
  // Closes our end of its standard output, as `head` does.
  void CloseOutput() { out_.Reset(); }
  // Reads everything until its end.
  ChildResult Wait();

 private:
  // False when both streams are over or the limit is reached.
  bool ReadSome();

  pid_t pid_ = -1;
  Fd out_;
  Fd err_;
  ChildResult result_;
  std::chrono::steady_clock::time_point limit_;
};

// Runs sbumpctl to its end.
ChildResult RunSbumpctl(const std::vector<std::string>& arguments,
                        const ChildOptions& options = {});
// Any program, found by its path.
ChildResult RunProgram(const std::vector<std::string>& words, const ChildOptions& options = {});

// Where the binary under test lies.
std::string SbumpctlPath();

}  // namespace sbump::test
