// A program that is no Python: it maps the file that it is given as code, as a loader would, and
// waits; with -DRUNTIME it also exports what CPython exports, with nothing behind it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#ifdef RUNTIME
extern "C" {
// Each word leads back into it.
uint64_t _PyRuntime[8192];
uint64_t PyCode_Type[64], PyFunction_Type[64], PyTuple_Type[64], PyDict_Type[64];
uint64_t PyUnicode_Type[64], PyModule_Type[64], PyType_Type[64];
unsigned long Py_Version = 0x030d00f0;
const char* Py_GetVersion() { return "3.13.0 (main, Oct  7 2024, 00:00:00) [GCC 12.2.0]"; }
void* _PyEval_EvalFrameDefault(void* a, void* b, int c) { return c != 0 ? a : b; }
void* _Py_Instrument(void* a) { return a; }
}
#endif

int main(int argc, char** argv) {
#ifdef RUNTIME
  for (uint64_t& word : _PyRuntime) word = reinterpret_cast<uint64_t>(&word);
  PyCode_Type[6] = reinterpret_cast<uint64_t>(&_Py_Instrument);
#endif
  for (int i = 1; i < argc; ++i) {
    const int fd = open(argv[i], O_RDONLY);
    struct stat st {};
    if (fd < 0 || fstat(fd, &st) != 0) return 2;
    const size_t size = st.st_size == 0 ? 1 : static_cast<size_t>(st.st_size);
    if (mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) return 3;
  }
  printf("{\"answer\": {\"pid\": %d}}\n", getpid());
  fflush(stdout);
  for (;;) pause();
}
