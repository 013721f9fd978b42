// A program without Python, and the library that it calls, to be slowed: built by
// tests/e2e/native_test.py. With -DLIBRARY it is the library. Requests are lines of words, each
// answered by one line of JSON, as harness/target.py reads it.
#include <cstdio>

#ifdef LIBRARY

extern "C" long work(long x) {
  asm volatile("" ::: "rbx");  // so that it begins with a push
  return x + 1;
}

// As libc chooses its memcpy: whoever calls `chosen` calls `choice`.
extern "C" {
static long choice(long x) {
  asm volatile("" ::: "rbx");
  return x + 1;
}
static long (*choose())(long) { return choice; }
long chosen(long) __attribute__((ifunc("choose")));
}

// Adds one, and begins with instructions that the kernel would have to single-step: the first that
// it emulates is the branch. Far from other code, of which a byte might be a short jump into it.
asm(R"(
  .text
  .p2align 8
  .globl compares
  .type compares, @function
compares:
  mov %rdi, %rax
  add $1, %rax
  test %rdi, %rdi
  jz 1f
1:
  ret
  .size compares, . - compares
)");

namespace shop {
class Engine {
 public:
  int Step(int x);
  int Step(int x, const char* unit);
};
int Engine::Step(int x) { return x + 1; }
int Engine::Step(int x, const char* unit) { return x + unit[0]; }
}  // namespace shop

extern "C" int steps(int x) {
  shop::Engine engine;
  return engine.Step(x) + engine.Step(x, "a");
}

#else

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

extern "C" long work(long);
extern "C" long chosen(long);
extern "C" long compares(long);
extern "C" int steps(int);

namespace {

__attribute__((noinline)) long local_work(long x) {
  asm volatile("");
  return x + 1;
}

using Function = std::function<void()>;

std::map<std::string, Function> functions = {
    {"work",
     [] {
       if (work(1) != 2) abort();
     }},
    {"chosen",
     [] {
       if (chosen(1) != 2) abort();
     }},
    {"compares",
     [] {
       if (compares(1) != 2) abort();
     }},
    {"steps",
     [] {
       if (steps(1) != 2 + 1 + 'a') abort();
     }},
    {"local_work",
     [] {
       if (local_work(1) != 2) abort();
     }},
    {"getppid", [] { getppid(); }},
};

// Nanoseconds of `count` calls.
long Call(const std::string& name, long count) {
  const Function& function = functions.at(name);
  const auto begin = std::chrono::steady_clock::now();
  for (long i = 0; i < count; ++i) function();
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
}

long CallInThreads(const std::string& name, long count, long threads) {
  std::vector<std::thread> all;
  for (long i = 0; i < threads; ++i) all.emplace_back([&] { Call(name, count); });
  for (std::thread& thread : all) thread.join();
  return count * threads;
}

// Of a child, by its own clock: milliseconds.
long CallInChild(const std::string& name, long count) {
  const pid_t child = fork();
  if (child == 0) _exit(static_cast<int>(std::min(Call(name, count) / 1'000'000, 255L)));
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

void* library = nullptr;

long Load(const std::string& path) {
  library = dlopen(path.c_str(), RTLD_NOW);
  if (library == nullptr) return 0;
  auto* late = reinterpret_cast<long (*)(long)>(dlsym(library, "work"));
  functions["late"] = [late] {
    if (late(1) != 2) abort();
  };
  return 1;
}

long Unload() {
  functions.erase("late");
  return dlclose(library);
}

}  // namespace

int main() {
  std::cout << "{\"answer\": {\"pid\": " << getpid() << "}}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb, name;
    long count = 0, threads = 0;
    words >> verb >> name >> count >> threads;
    long answer = 0;
    if (verb == "call") answer = Call(name, count);
    if (verb == "threads") answer = CallInThreads(name, count, threads);
    if (verb == "child") answer = CallInChild(name, count);
    if (verb == "load") answer = Load(name);
    if (verb == "unload") answer = Unload();
    if (verb == "exec") execl(name.c_str(), name.c_str(), "30", nullptr);
    std::cout << "{\"answer\": " << answer << "}" << std::endl;
    if (verb == "end") return 0;
  }
  return 0;
}

#endif
