#include "daemon/native/demangle.h"

#include <csetjmp>
#include <cstring>

#define HAVE_DECL_BASENAME 1  // or libiberty declares it, in its own way
#include <libiberty/demangle.h>

namespace sbump {
namespace {

// Only plain data: the demangler is left by longjmp.
struct Output {
  std::jmp_buf full;
  size_t size;
  char text[kMaxDemangledBytes];
};

void Append(const char* piece, size_t size, void* opaque) {
  auto* output = static_cast<Output*>(opaque);
  if (size > sizeof(output->text) - output->size) std::longjmp(output->full, 1);
  std::memcpy(output->text + output->size, piece, size);
  output->size += size;
}

// Through the callback the demangler allocates nothing: nothing is lost when it is left.
bool DemangleInto(const char* mangled, Output* output) {
  output->size = 0;
  if (setjmp(output->full) != 0) return false;
  return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI, &Append, output) != 0;
}

}  // namespace

std::optional<std::string> Demangle(const std::string& mangled) {
  if (!mangled.starts_with("_Z") || mangled.size() > kMaxMangledBytes) return std::nullopt;
  Output output;
  if (!DemangleInto(mangled.c_str(), &output)) return std::nullopt;
  return std::string(output.text, output.size);
}

}  // namespace sbump
